//! Compiles the BPF program of the path that XDP joins.

#[path = "../port/build/objects.rs"]
mod objects;

fn main() -> std::io::Result<()> {
    objects::build("xdp-redirect paths are", &[])
}
