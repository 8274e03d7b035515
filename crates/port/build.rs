//! Compiles the BPF programs of the engines.

#[path = "build/objects.rs"]
mod objects;

fn main() -> std::io::Result<()> {
    objects::build("the xdp engine is", &[])
}
