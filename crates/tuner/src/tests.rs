//! Transactions of files below a folder: the one kind of setting that every user may write.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nicety_advisor::transaction::{Cause, Purpose};
use nicety_model::journal::{Event, Outcome, Phase};
use nicety_model::knob::{Change, Knob};
use nicety_model::{Coded, ProblemCode};
use tempfile::TempDir;

use crate::apply::{check, commit};
use crate::{Transaction, TuneError, TuneEvent, Work, status};

struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { dir }
    }

    fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    fn begin(&self) -> (Work, Vec<TuneEvent>) {
        let mut events = Vec::new();
        let work = Work::begin(Some(&self.state()), &mut |event| events.push(event)).unwrap();
        (work, events)
    }

    fn file(&self, name: &str) -> PathBuf {
        let folder = self.dir.path().canonicalize().unwrap();
        folder.join("etc/sysctl.d").join(name)
    }

    fn change(&self, name: &str, from: &str, to: &str) -> Change {
        Change {
            knob: Knob::File {
                path: self.file(name).display().to_string(),
            },
            from: from.to_owned(),
            to: to.to_owned(),
        }
    }
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn what_is_committed_is_undone_when_asked() {
    let place = Place::new();
    let file = place.file("99-nicety.conf");
    let change = place.change("99-nicety.conf", "", "a = 1\n");
    let (work, _) = place.begin();
    check(&work, &[&change], &mut |_| {}).unwrap();
    let id = commit(&work, &[&change]).unwrap();
    assert_eq!(text(&file), "a = 1\n");
    let transaction = work.pick(None, Purpose::Undo { force: false }).unwrap();
    assert_eq!(transaction.id(), id);
    assert_eq!(transaction.journal().phase(), Phase::Confirmed);
    let told = status::status(&work.state, &mut |_| {}).unwrap();
    assert!(told.active[0].settings[0].holds());

    fs::write(&file, "b = 2\n").unwrap();
    let mut transaction = work.pick(Some(id), Purpose::Undo { force: false }).unwrap();
    let outcomes = transaction.undo("asked for", false).unwrap();
    assert!(
        matches!(outcomes[0].1, Outcome::Foreign { .. }),
        "left alone"
    );
    assert_eq!(text(&file), "b = 2\n");
    let outcomes = transaction.undo("asked for", true).unwrap();
    assert_eq!(outcomes[0].1, Outcome::Restored, "by force");
    assert!(!file.exists());
}

#[test]
fn one_that_fails_takes_the_others_back() {
    let place = Place::new();
    let good = place.change("99-nicety.conf", "", "a = 1\n");
    let mut bad = place.change("99-nicety-b.conf", "", "b = 1\n");
    bad.knob = Knob::File {
        path: place.dir.path().join("other").display().to_string(),
    };
    let (work, _) = place.begin();
    let error = commit(&work, &[&good, &bad]).unwrap_err();
    assert!(matches!(error, TuneError::NotCommitted { .. }), "{error}");
    assert_eq!(error.code(), ProblemCode::TakenBack);
    assert!(!place.file("99-nicety.conf").exists());
    let journal = work.state.read(1).unwrap();
    assert_eq!(journal.phase(), Phase::RolledBack);
    // The refused one cannot be read, so nothing is known of it.
    assert_eq!(journal.outcome(&good.knob), Some(&Outcome::Restored));
}

#[test]
fn what_was_left_half_done_is_undone_at_the_next_start() {
    let place = Place::new();
    let change = place.change("99-nicety.conf", "", "a = 1\n");
    {
        let (work, _) = place.begin();
        let mut transaction = Transaction::begin(&work, Duration::from_secs(60)).unwrap();
        transaction.write(&[&change]).unwrap();
        let error = check(&work, &[&change], &mut |_| {}).unwrap_err();
        assert!(matches!(error, TuneError::Unfinished { id: 1 }), "{error}");
    }
    assert_eq!(text(&place.file("99-nicety.conf")), "a = 1\n");
    let (work, events) = place.begin();
    assert!(
        matches!(
            &events[..],
            [TuneEvent::Recovered {
                id: 1,
                cause: Cause::DiedApplying,
                ..
            }]
        ),
        "{events:?}"
    );
    assert!(!place.file("99-nicety.conf").exists());
    assert_eq!(work.state.read(1).unwrap().phase(), Phase::RolledBack);
}

#[test]
fn a_journal_killed_at_its_begin_is_closed() {
    let place = Place::new();
    drop(place.begin());
    let cut = place.state().join("txn-0001.jsonl");
    fs::write(&cut, "{\"event\":\"beg").unwrap();
    fs::set_permissions(cut, fs::Permissions::from_mode(0o600)).unwrap();
    let (work, events) = place.begin();
    assert!(events.is_empty(), "{events:?}");
    assert_eq!(work.state.read(1).unwrap().events, [Event::RolledBack]);
    let missing = work.pick(Some(7), Purpose::Confirm).unwrap_err();
    assert!(
        missing
            .to_string()
            .starts_with("there is no transaction 7 in "),
        "{missing}"
    );
    let none = work.pick(None, Purpose::Confirm).unwrap_err();
    assert!(
        none.to_string()
            .starts_with("there is no open or active transaction in ")
    );
}

#[test]
fn a_journal_that_cannot_be_read_keeps_no_other_from_being_undone() {
    let place = Place::new();
    let change = place.change("99-nicety.conf", "", "a = 1\n");
    {
        let (work, _) = place.begin();
        let mut transaction = Transaction::begin(&work, Duration::from_secs(60)).unwrap();
        transaction.write(&[&change]).unwrap();
        let strange = place.state().join("txn-0002.jsonl");
        fs::write(&strange, "no event\n").unwrap();
        fs::set_permissions(strange, fs::Permissions::from_mode(0o600)).unwrap();
    }
    let (work, events) = place.begin();
    assert!(
        matches!(
            &events[..],
            [
                TuneEvent::UnreadableJournal(_),
                TuneEvent::Recovered { id: 1, .. }
            ]
        ),
        "{events:?}"
    );
    assert!(!place.file("99-nicety.conf").exists());
    let named = work.pick(Some(2), Purpose::Confirm).unwrap_err();
    assert!(matches!(named, TuneError::Journal(_)), "{named}");
}

#[test]
fn a_host_that_is_not_as_the_plan_says_is_left_alone() {
    let place = Place::new();
    let (work, _) = place.begin();
    let change = place.change("99-nicety.conf", "other", "a = 1\n");
    let mut events = Vec::new();
    let error = check(&work, &[&change], &mut |event| events.push(event)).unwrap_err();
    assert!(matches!(error, TuneError::Moved { settings: 1 }), "{error}");
    assert!(
        matches!(&events[..], [TuneEvent::Differs { .. }]),
        "{events:?}"
    );
}
