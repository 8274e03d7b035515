//! What a disk may hold after a power loss: a model of a file system that promises no more than POSIX does.
//!
//! `fsync` and `fdatasync` of a file make its bytes durable; `fsync` of a directory makes the names in it durable.
//! Everything else may have reached the disk or not, each operation by itself and in any order; only a rename is whole
//! or not at all. The last write may be torn, or have left zeros. The states are those that ALICE explores (Pillai et
//! al., "All File Systems Are Not Created Equal", OSDI 2014): all that was asked for, only what was synced, one
//! operation missing, one alone; and some sets at random (CrashMonkey, Mohan et al., OSDI 2018, picks likewise).

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::trace::Step;

/// A file or directory by its number.
type Ino = usize;
const ROOT: Ino = 0;
/// Random sets of lost operations at each moment.
const RANDOM: usize = 4;

#[derive(Debug, Clone)]
enum Effect {
    /// Names in directories that come, change or go at once.
    Names(Vec<(Ino, String, Option<Ino>)>),
    Write {
        file: Ino,
        at: usize,
        bytes: Vec<u8>,
    },
    Length {
        file: Ino,
        bytes: usize,
    },
    Sync(Ino),
}

/// What became of one operation.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Lost,
    There,
    Half,
    Zeros,
}

/// Files by path below the root; directories have no bytes.
pub type Tree = BTreeMap<PathBuf, Option<Vec<u8>>>;

/// Files and directories by the directory that they lie in, and their name there.
type Names<'a> = BTreeMap<(Ino, &'a str), Ino>;

/// A tree that a power loss may leave.
#[derive(Debug)]
pub struct Left {
    pub tree: Tree,
    /// The last step of the trace after which the power may have gone.
    pub after: usize,
}

/// The disk below one directory, before and while a program works on it.
#[derive(Debug)]
pub struct Disk {
    root: PathBuf,
    /// Which of them are directories.
    folders: Vec<bool>,
    /// As a program sees it: names by directory.
    names: HashMap<(Ino, String), Ino>,
    lengths: HashMap<Ino, usize>,
    /// Where each open file is written next, none at its end; a file is written by one descriptor at a time here.
    offsets: HashMap<Ino, Option<usize>>,
    /// Each with the step of the trace that it belongs to.
    effects: Vec<(usize, Effect)>,
}

impl Disk {
    /// What is there now is durable.
    pub fn now(root: &Path) -> Self {
        let mut disk = Self {
            root: root.to_owned(),
            folders: vec![true],
            names: HashMap::new(),
            lengths: HashMap::new(),
            offsets: HashMap::new(),
            effects: Vec::new(),
        };
        disk.add_all(root, ROOT);
        disk
    }

    fn add_all(&mut self, folder: &Path, ino: Ino) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let new = self.make(ino, name, path.is_dir(), 0);
            if path.is_dir() {
                self.add_all(&path, new);
            } else {
                let bytes = fs::read(&path).unwrap();
                self.write(new, 0, bytes, 0);
                self.effects.push((0, Effect::Sync(new)));
            }
        }
        self.effects.push((0, Effect::Sync(ino)));
    }

    fn make(&mut self, folder: Ino, name: String, is_folder: bool, step: usize) -> Ino {
        let new = self.folders.len();
        self.folders.push(is_folder);
        self.names.insert((folder, name.clone()), new);
        self.lengths.insert(new, 0);
        self.effects
            .push((step, Effect::Names(vec![(folder, name, Some(new))])));
        new
    }

    fn write(&mut self, file: Ino, at: usize, bytes: Vec<u8>, step: usize) {
        let length = self.lengths.get_mut(&file).unwrap();
        *length = (*length).max(at + bytes.len());
        self.effects.push((step, Effect::Write { file, at, bytes }));
    }

    fn find(&self, path: &Path) -> Option<Ino> {
        // Where a path is not whole, the program works in the root.
        let path = self.root.join(path);
        let below = path.strip_prefix(&self.root).ok()?;
        let mut ino = ROOT;
        for part in below {
            ino = *self.names.get(&(ino, part.to_str()?.to_owned()))?;
        }
        Some(ino)
    }

    /// The directory that a path lies in, and its name there.
    fn place(&self, path: &Path) -> Option<(Ino, String)> {
        let name = path.file_name()?.to_str()?.to_owned();
        Some((self.find(path.parent()?)?, name))
    }

    /// Plays one step of a trace; calls that the model does not know panic.
    pub fn play(&mut self, number: usize, step: &Step) {
        match step.call.as_str() {
            "open" | "openat" | "openat2" | "creat" => {
                let Some(path) = step.opened().filter(|path| path.starts_with(&self.root)) else {
                    return;
                };
                let Some(place) = self.place(&path) else {
                    return;
                };
                match self.find(&path) {
                    None => {
                        let is_new = step.words.contains("O_CREAT");
                        assert!(is_new, "never made: {}", path.display());
                        let ino = self.make(place.0, place.1, false, number);
                        self.opened(ino, step);
                    }
                    Some(ino) => {
                        if step.words.contains("O_TRUNC") && self.lengths[&ino] > 0 {
                            self.length(ino, 0, number);
                        }
                        if step.words.contains("O_WRONLY") || step.words.contains("O_RDWR") {
                            self.opened(ino, step);
                        }
                    }
                }
            }
            "lseek" => {
                if let Some(ino) = step.file().and_then(|path| self.find(&path)) {
                    self.offsets.insert(ino, Some(step.number()));
                }
            }
            "mkdir" | "mkdirat" => {
                if let Some((folder, name)) = step.paths().pop().and_then(|path| self.place(&path))
                {
                    self.make(folder, name, true, number);
                }
            }
            "rename" | "renameat" | "renameat2" => self.rename(&step.paths(), number),
            "unlink" | "unlinkat" | "rmdir" => {
                if let Some(place) = step.paths().pop().and_then(|path| self.place(&path)) {
                    self.names.remove(&place);
                    let gone = vec![(place.0, place.1, None)];
                    self.effects.push((number, Effect::Names(gone)));
                }
            }
            "write" | "writev" => {
                let Some(file) = step.file().and_then(|path| self.find(&path)) else {
                    return;
                };
                let mut bytes = step.texts().concat();
                bytes.truncate(step.number());
                let offset = self.offsets[&file];
                let at = offset.unwrap_or(self.lengths[&file]);
                self.offsets.insert(file, offset.map(|at| at + bytes.len()));
                self.write(file, at, bytes, number);
            }
            "pwrite64" => {
                let Some(file) = step.file().and_then(|path| self.find(&path)) else {
                    return;
                };
                let mut bytes = step.texts().concat();
                bytes.truncate(step.number());
                self.write(file, step.last() as usize, bytes, number);
            }
            "ftruncate" => {
                if let Some(file) = step.file().and_then(|path| self.find(&path)) {
                    self.length(file, step.last() as usize, number);
                }
            }
            "fsync" | "fdatasync" => {
                if let Some(ino) = step.file().and_then(|path| self.find(&path)) {
                    self.effects.push((number, Effect::Sync(ino)));
                }
            }
            "link" | "linkat" | "symlink" | "symlinkat" | "truncate" | "fallocate"
            | "copy_file_range" | "sendfile" => {
                let here = step.paths().into_iter().chain(step.file());
                let mut here = here.filter(|path| path.starts_with(&self.root));
                assert!(here.next().is_none(), "not in the model: {step:?}");
            }
            _ => {}
        }
    }

    fn opened(&mut self, file: Ino, step: &Step) {
        let at = (!step.words.contains("O_APPEND")).then_some(0);
        self.offsets.insert(file, at);
    }

    fn length(&mut self, file: Ino, bytes: usize, step: usize) {
        self.lengths.insert(file, bytes);
        self.effects.push((step, Effect::Length { file, bytes }));
    }

    fn rename(&mut self, paths: &[PathBuf], step: usize) {
        let places = paths.iter().map(|path| self.place(path));
        let Some(places) = places.collect::<Option<Vec<_>>>() else {
            return;
        };
        let [from, to] = places.try_into().unwrap();
        let ino = self.names.remove(&from).unwrap();
        self.names.insert(to.clone(), ino);
        let names = vec![(from.0, from.1, None), (to.0, to.1, Some(ino))];
        self.effects.push((step, Effect::Names(names)));
    }

    /// Every tree that a power loss may leave, each once, of a run of so many steps.
    pub fn states(&self, steps: usize, random: &mut fastrand::Rng) -> Vec<Left> {
        let mut found: HashMap<Tree, usize> = HashMap::new();
        // What was there before has step 0.
        let first = self
            .effects
            .iter()
            .take_while(|(step, _)| *step == 0)
            .count();
        for end in first..=self.effects.len() {
            // The steps up to the next one that the disk knows of are done as well.
            let after = self.effects.get(end).map_or(steps, |(next, _)| next - 1);
            for fates in self.fates(end, random) {
                let latest = found.entry(self.tree(&fates)).or_default();
                *latest = (*latest).max(after);
            }
        }
        let mut states: Vec<Left> = found
            .into_iter()
            .map(|(tree, after)| Left { tree, after })
            .collect();
        states.sort_by(|a, b| (a.after, &a.tree).cmp(&(b.after, &b.tree)));
        states
    }

    /// The step after which a file of this path is certainly there.
    pub fn step_of(&self, path: &str) -> usize {
        let last = self.effects.last().unwrap().0;
        let has = |step: &usize| self.durable(*step).contains_key(Path::new(path));
        (0..=last + 1).find(has).unwrap()
    }

    /// What is certainly there of the steps before `end`.
    pub fn durable(&self, end: usize) -> Tree {
        let end = self.effects.partition_point(|(step, _)| *step < end);
        self.tree(&self.certain(end))
    }

    /// What is there for certain, the rest lost.
    fn certain(&self, end: usize) -> Vec<Fate> {
        let mut synced: HashMap<Ino, usize> = HashMap::new();
        for (at, (_, effect)) in self.effects[..end].iter().enumerate() {
            if let Effect::Sync(ino) = effect {
                synced.insert(*ino, at);
            }
        }
        let is_synced = |ino: &Ino, at: usize| synced.get(ino).is_some_and(|sync| *sync > at);
        let fate = |(at, (_, effect)): (usize, &(usize, Effect))| {
            let sure = match effect {
                Effect::Names(names) => names.iter().all(|(folder, _, _)| is_synced(folder, at)),
                Effect::Write { file, .. } | Effect::Length { file, .. } => is_synced(file, at),
                Effect::Sync(_) => true,
            };
            if sure { Fate::There } else { Fate::Lost }
        };
        self.effects[..end].iter().enumerate().map(fate).collect()
    }

    fn fates(&self, end: usize, random: &mut fastrand::Rng) -> Vec<Vec<Fate>> {
        let certain = self.certain(end);
        let open: Vec<usize> = (0..end).filter(|at| certain[*at] == Fate::Lost).collect();
        let mut all = certain.clone();
        open.iter().for_each(|at| all[*at] = Fate::There);
        let mut sets = vec![certain.clone(), all.clone()];
        for at in &open {
            let with = |base: &[Fate], fate| {
                let mut set = base.to_vec();
                set[*at] = fate;
                set
            };
            sets.extend([with(&all, Fate::Lost), with(&certain, Fate::There)]);
            if matches!(self.effects[*at].1, Effect::Write { .. }) {
                sets.extend([with(&all, Fate::Half), with(&all, Fate::Zeros)]);
            }
        }
        if open.len() > 2 {
            for _ in 0..RANDOM {
                let mut set = certain.clone();
                for at in &open {
                    set[*at] = if random.bool() {
                        Fate::There
                    } else {
                        Fate::Lost
                    };
                }
                sets.push(set);
            }
        }
        sets
    }

    fn tree(&self, fates: &[Fate]) -> Tree {
        let mut names = Names::new();
        let mut contents: HashMap<Ino, Vec<u8>> = HashMap::new();
        for ((_, effect), fate) in self.effects.iter().zip(fates) {
            match (effect, fate) {
                (_, Fate::Lost) | (Effect::Sync(_), _) => {}
                (Effect::Names(all), _) => {
                    for (folder, name, ino) in all {
                        match ino {
                            Some(ino) => names.insert((*folder, name), *ino),
                            None => names.remove(&(*folder, name.as_str())),
                        };
                    }
                }
                (Effect::Write { file, at, bytes }, fate) => {
                    let content = contents.entry(*file).or_default();
                    let end = match fate {
                        Fate::Half => at + bytes.len() / 2,
                        _ => at + bytes.len(),
                    };
                    content.resize(content.len().max(end), 0);
                    if *fate != Fate::Zeros {
                        content[*at..end].copy_from_slice(&bytes[..end - at]);
                    }
                }
                (Effect::Length { file, bytes }, _) => {
                    contents.entry(*file).or_default().resize(*bytes, 0);
                }
            }
        }
        let mut tree = Tree::new();
        self.reach(ROOT, Path::new(""), (&names, &contents), &mut tree);
        tree
    }

    fn reach(
        &self,
        folder: Ino,
        at: &Path,
        found: (&Names<'_>, &HashMap<Ino, Vec<u8>>),
        tree: &mut Tree,
    ) {
        for ((_, name), ino) in found.0.range((folder, "")..(folder + 1, "")) {
            let path = at.join(name);
            if self.folders[*ino] {
                tree.insert(path.clone(), None);
                self.reach(*ino, &path, found, tree);
            } else {
                let content = found.1.get(ino).cloned().unwrap_or_default();
                tree.insert(path, Some(content));
            }
        }
    }
}

/// Makes a directory hold a tree and nothing else.
pub fn put(root: &Path, tree: &Tree) {
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }
    for (path, content) in tree {
        let path = root.join(path);
        match content {
            None => {
                fs::DirBuilder::new().mode(0o700).create(&path).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
            }
            Some(bytes) => {
                let mut new = fs::OpenOptions::new();
                let mut file = new
                    .write(true)
                    .create_new(true)
                    .mode(0o600)
                    .open(&path)
                    .unwrap();
                std::io::Write::write_all(&mut file, bytes).unwrap();
            }
        }
    }
}

/// What a crash leaves of a synced file, of a renamed one, and of one that nobody waited for.
#[test]
fn the_model_keeps_what_was_synced_only() {
    let dir = tempfile::tempdir().unwrap();
    let mut disk = Disk::now(dir.path());
    let root = dir.path().to_str().unwrap();
    let hex = |text: &str| {
        text.bytes()
            .map(|byte| format!("\\x{byte:02x}"))
            .collect::<String>()
    };
    let step = |call: &str, words: String, result: String| Step {
        call: call.to_owned(),
        words,
        result,
    };
    let new = hex(&format!("{root}/a.new"));
    let steps = [
        step(
            "openat",
            format!("AT_FDCWD<{}>, \"{new}\", O_WRONLY|O_CREAT, 0666", hex(root)),
            format!("3<{new}>"),
        ),
        step(
            "write",
            format!("3<{new}>, \"{}\", 4", hex("text")),
            "4".to_owned(),
        ),
        step("fsync", format!("3<{new}>"), "0".to_owned()),
        step(
            "rename",
            format!("\"{new}\", \"{}\"", hex(&format!("{root}/a"))),
            "0".to_owned(),
        ),
        step("fsync", format!("4<{}>", hex(root)), "0".to_owned()),
    ];
    for (number, step) in steps.iter().enumerate() {
        disk.play(number + 1, step);
    }
    let mut random = fastrand::Rng::with_seed(1);
    let file = |name: &str, text: &str| Tree::from([(PathBuf::from(name), Some(text.into()))]);
    let states = disk.states(steps.len(), &mut random);
    let after = |tree: &Tree| {
        states
            .iter()
            .find(|left| left.tree == *tree)
            .map(|left| left.after)
    };
    assert_eq!(
        after(&Tree::new()),
        Some(4),
        "neither name is sure before the directory is synced"
    );
    assert_eq!(
        after(&file("a.new", "te")),
        Some(2),
        "half a write, before it is synced"
    );
    assert_eq!(after(&file("a.new", "\0\0\0\0")), Some(2));
    assert_eq!(
        after(&file("a.new", "text")),
        Some(4),
        "a rename that was lost"
    );
    assert_eq!(after(&file("a", "text")), Some(5));
    assert_eq!(
        after(&file("a", "")),
        None,
        "the bytes are there before the name"
    );
    assert_eq!(states.len(), 6, "{states:#?}");
    assert_eq!(disk.durable(6), file("a", "text"));
}
