//! The type information of a compiled object, for tests that hold structs of this program against it.

use std::io::Write as _;

use btf_rs::utils::elf::extract_btf_from_file;
use btf_rs::{Btf, Type};

/// Fields of a struct in order, each with its first byte, and the size of all.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    fields: Vec<(String, usize)>,
    pub(crate) bytes: usize,
}

impl Layout {
    pub(crate) fn new(fields: &[(&str, usize)], bytes: usize) -> Self {
        let fields = fields.iter().map(|(name, at)| ((*name).to_owned(), *at));
        Self {
            fields: fields.collect(),
            bytes,
        }
    }

    /// First byte of a field.
    pub(crate) fn place(&self, field: &str) -> Option<usize> {
        let found = self.fields.iter().find(|(name, _)| name == field);
        found.map(|(_, at)| *at)
    }
}

/// Types of one object.
pub(crate) struct Types(Btf);

impl Types {
    pub(crate) fn layout(&self, name: &str) -> Layout {
        let types = self.0.resolve_types_by_name(name).unwrap();
        let found = types.iter().find_map(|kind| match kind {
            Type::Struct(found) => Some(found),
            _ => None,
        });
        let found = found.unwrap();
        let field = |member: &btf_rs::Member| {
            let name = self.0.resolve_name(member).unwrap();
            (name, member.bit_offset() as usize / 8)
        };
        Layout {
            fields: found.members.iter().map(field).collect(),
            bytes: found.size(),
        }
    }
}

/// Types of `objects`; `None`, and a line that says so, when they were not built.
pub(crate) fn of<const N: usize>(test: &str, objects: [Option<&[u8]>; N]) -> Option<[Types; N]> {
    if let Some(why) = super::missing() {
        println!("SKIP {test}: {why}");
        return None;
    }
    Some(objects.map(|object| {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(object.unwrap()).unwrap();
        let bytes = extract_btf_from_file(file.path()).unwrap();
        Types(Btf::from_bytes(&bytes).unwrap())
    }))
}
