//! Compiles the BPF programs that note the fate of frames.

#[path = "../port/build/objects.rs"]
mod objects;

fn main() -> std::io::Result<()> {
    objects::build("fates of frames are", &["../port/bpf"])
}
