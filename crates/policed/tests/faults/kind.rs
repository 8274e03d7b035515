//! The kinds of accidents.

/// What may happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    LeaderKilled,
    DaemonKilled,
    DaemonStopped,
    HostCut,
    LeaderCut,
    OtherFields,
    NewerSchema,
    MemberKilled,
    MemberStopped,
    MajorityCut,
    NoSpace,
    Slow,
    Emptied,
    Expired,
    WrongCa,
    WrongPassword,
}

use Kind::*;

/// Those of one cluster alone.
pub const OF_A_HOST: [Kind; 7] = [
    LeaderKilled,
    DaemonKilled,
    DaemonStopped,
    HostCut,
    LeaderCut,
    OtherFields,
    NewerSchema,
];
/// Those of an etcd with three members.
pub const OF_MEMBERS: [Kind; 3] = [MemberKilled, MemberStopped, MajorityCut];
/// Those of any etcd.
pub const OF_ETCD: [Kind; 3] = [NoSpace, Slow, Emptied];
/// Those of a login, of one host each.
pub const OF_A_LOGIN: [Kind; 2] = [WrongCa, WrongPassword];

impl Kind {
    pub fn words(self) -> &'static str {
        match self {
            LeaderKilled => "leader killed (SIGKILL)",
            DaemonKilled => "daemon killed (SIGKILL)",
            DaemonStopped => "daemon stopped (SIGSTOP), three leases",
            HostCut => "a host cut off (nft)",
            LeaderCut => "the leader cut off (nft)",
            OtherFields => "older and newer values with other fields",
            NewerSchema => "values of a newer schema",
            MemberKilled => "etcd: a member killed (SIGKILL)",
            MemberStopped => "etcd: a member stopped (SIGSTOP), three leases",
            MajorityCut => "etcd: most members cut off (nft)",
            NoSpace => "etcd: full (NOSPACE)",
            Slow => "etcd: answers take 1 s more",
            Emptied => "etcd: started again empty",
            Expired => "etcd: certificate expired",
            WrongCa => "a host with the wrong ca",
            WrongPassword => "a host with the wrong password",
        }
    }

    /// How long it lasts, in leases.
    pub fn leases(self, short: bool) -> (f64, f64) {
        match self {
            LeaderKilled | DaemonKilled | HostCut | LeaderCut if short => (1.2, 1.4),
            LeaderKilled | DaemonKilled => (0.2, 1.6),
            HostCut | LeaderCut => (0.2, 2.0),
            DaemonStopped | MemberStopped if short => (1.2, 1.4),
            DaemonStopped | MemberStopped => (3.0, 3.0),
            OtherFields | NewerSchema => (0.5, 1.0),
            MemberKilled => (0.5, 1.5),
            MajorityCut => (1.1, 2.0),
            NoSpace | Slow => (1.0, 2.0),
            Emptied => (0.0, 1.2),
            Expired | WrongCa | WrongPassword => (1.0, 1.5),
        }
    }

    /// What is in the line that names it, where a host must have one.
    pub fn cause(self) -> &'static [&'static str] {
        match self {
            HostCut | LeaderCut | MajorityCut | Emptied => {
                &["does not answer", "cannot reach etcd"]
            }
            NoSpace => &["etcd is full (NOSPACE)"],
            Expired => &["renew that certificate"],
            WrongCa => &["name the authority"],
            WrongPassword => &["check user and password_file"],
            _ => &[],
        }
    }

    /// Whether it keeps every host from etcd.
    pub fn of_all(self) -> bool {
        matches!(self, MajorityCut | NoSpace | Emptied | Expired)
    }
}
