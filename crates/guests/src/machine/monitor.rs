//! What a machine takes orders by.

use serde_json::json;

use crate::cloud_hypervisor::Api;
use crate::error::QemuError;
use crate::qmp::Qmp;

/// That of QEMU, or of Cloud Hypervisor.
#[derive(Debug)]
pub(super) enum Monitor {
    Qmp(Qmp),
    Api(Api),
}

impl Monitor {
    pub(super) fn stand(&mut self, still: bool) -> Result<(), QemuError> {
        match self {
            Self::Qmp(qmp) => {
                let command = if still { "stop" } else { "cont" };
                qmp.execute(command, &json!({})).map(drop)
            }
            Self::Api(api) => api.put(if still { "vm.pause" } else { "vm.resume" }),
        }
    }

    pub(super) fn reset(&mut self) -> Result<(), QemuError> {
        let Self::Qmp(qmp) = self else {
            return Err(none());
        };
        // QEMU was told to end with the guest that reboots.
        qmp.execute("set-action", &json!({"reboot": "reset"}))?;
        qmp.execute("system_reset", &json!({})).map(drop)
    }
}

/// Of a machine that was left running, or one that cannot be ordered this.
pub(super) fn none() -> QemuError {
    QemuError::answer("the machine's monitor", "none")
}
