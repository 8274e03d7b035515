//! Codes of problems: which kind it is, for programs and for whoever looks it up.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

crate::keywords::keywords! {
    /// What a problem asks of its reader, and so how a command ends.
    ProblemKind {
        /// Other input: exit code 2.
        Input = "input",
        /// Another environment: rights, room, programs, hardware. Exit code 3.
        Environment = "environment",
        /// Nothing: the answer is no. Exit code 1.
        Negative = "negative",
        /// Nothing: its user stopped it. Exit code 4.
        Interrupted = "interrupted",
    }
}

/// The one table: code, name, kind, variant.
macro_rules! codes {
    ($($code:literal $name:literal $kind:ident $variant:ident,)+) => {
        /// A kind of problem. Numbers and names stay for ever: a kind that goes leaves its number unused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ProblemCode {
            $(#[doc = concat!($code, " ", $name)] $variant,)+
        }

        impl ProblemCode {
            /// Every code, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// `P` and three digits.
            pub fn code(self) -> &'static str {
                match self {
                    $(Self::$variant => $code,)+
                }
            }

            /// Short, lower case, with hyphens.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// What it asks of its reader.
            pub fn kind(self) -> ProblemKind {
                match self {
                    $(Self::$variant => ProblemKind::$kind,)+
                }
            }
        }
    };
}

codes! {
    // Input and files.
    "P001" "bad-value" Input BadValue,
    "P002" "unusable-file" Input UnusableFile,
    "P003" "stopped-by-user" Interrupted Interrupted,
    "P004" "no-run" Input NoRun,
    "P005" "damaged" Input Damaged,
    "P006" "newer-version" Input NewerVersion,

    // The host.
    "P010" "no-privilege" Environment NoPrivilege,
    "P011" "no-user-namespace" Environment NoUserNamespace,
    "P012" "kernel-refused" Environment KernelRefused,
    "P013" "kernel-lacks" Environment KernelLacks,
    "P014" "not-installed" Environment NotInstalled,
    "P015" "machine-lacks" Environment MachineLacks,
    "P016" "storage-refuses" Environment StorageRefuses,
    "P017" "in-use" Environment InUse,
    "P018" "program-fault" Environment Fault,

    // What no machine can build.
    "P020" "without-effect" Input WithoutEffect,
    "P021" "no-such-guest" Input NoSuchGuest,
    "P022" "too-many" Input TooMany,
    "P023" "no-place-for-sockets" Input NoPlaceForSockets,

    // Paths, guests and their ports.
    "P030" "no-such-port" Input NoSuchPort,
    "P031" "port-unusable" Input PortUnusable,
    "P032" "port-down" Environment PortDown,
    "P033" "frame-too-large" Environment FrameTooLarge,
    "P034" "too-many-queues" Environment TooManyQueues,
    "P035" "no-neighbours" Environment NoNeighbours,
    "P036" "path-failed" Environment PathFailed,
    "P037" "no-qemu" Environment NoQemu,
    "P038" "no-kvm" Environment NoKvm,

    // Engines.
    "P050" "built-without-bpf" Environment BuiltWithoutBpf,
    "P051" "engine-unavailable" Environment EngineUnavailable,
    "P052" "no-hardware-stamps" Environment NoHardwareStamps,

    // Peers of socket tests, servers of stores.
    "P060" "unreachable" Environment Unreachable,
    "P061" "peer-refuses" Environment PeerRefuses,
    "P062" "wrong-token" Input WrongToken,

    // Tuning.
    "P070" "no-transaction" Input NoTransaction,
    "P071" "transaction-open" Input TransactionOpen,
    "P072" "settings-moved" Negative SettingsMoved,
    "P073" "nothing-to-keep" Negative NothingToKeep,
    "P074" "dead-path" Negative DeadPath,
    "P075" "taken-back" Negative TakenBack,
    "P076" "no-guard" Environment NoGuard,

    // Policing.
    "P080" "tenant-refused" Input TenantRefused,
    "P081" "limit-refused" Input LimitRefused,
    "P082" "kernel-silent" Environment KernelSilent,
    "P083" "no-daemon" Environment NoDaemon,
}

impl ProblemCode {
    /// Reads a code; one of a newer version is none.
    ///
    /// # Errors
    /// When it is no string.
    pub fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        let word = Cow::<str>::deserialize(deserializer)?;
        let mut all = Self::ALL.iter().copied();
        Ok(all.find(|known| known.code() == word))
    }
}

impl fmt::Display for ProblemCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.code(), self.name())
    }
}

impl Serialize for ProblemCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

impl JsonSchema for ProblemCode {
    fn schema_name() -> Cow<'static, str> {
        "ProblemCode".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A kind of problem: docs/reference/problems.md has every code.",
            "type": "string",
            "pattern": "^P[0-9]{3}$",
        })
    }
}
