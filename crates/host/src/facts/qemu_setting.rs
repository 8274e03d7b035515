//! Properties that a command line of QEMU sets apart from their device (`-global`, `-set`).

use super::qemu_options::Options;
use super::vm_args::{DEVICE, NETDEV, OFFLOADS};

/// A property set apart from its device: `-global virtio-net-pci.mq=on`, `-set device.net0.mq=on`.
#[derive(Debug, PartialEq)]
pub(super) struct Setting {
    /// Driver of the devices, or group and id of the one.
    of: Vec<String>,
    key: String,
    value: String,
}

impl Setting {
    /// Nothing of other options, and of properties that are not kept.
    pub(super) fn read<'a>(option: &str, value: impl FnOnce() -> Option<&'a str>) -> Option<Self> {
        let depth = match option {
            "-global" => 1,
            "-set" => 2,
            _ => return None,
        };
        let text = value()?;
        let setting = match text.split_once('=') {
            Some((left, value)) if left.contains('.') => {
                let mut of: Vec<String> = left.split('.').map(str::to_owned).collect();
                let (key, value) = (of.pop()?, value.to_owned());
                Self { of, key, value }
            }
            // `-global driver=D,property=P,value=V`
            _ => {
                let options = Options::parse(text, "driver");
                let part = |key| options.get(key).map(str::to_owned);
                Self {
                    of: vec![part("driver")?],
                    key: part("property")?,
                    value: part("value")?,
                }
            }
        };
        let driver = setting.of.first()?;
        let ours = driver.starts_with("virtio-net") || ["device", "netdev"].contains(&&**driver);
        let key = setting.key.as_str();
        let keys = [DEVICE, NETDEV, &OFFLOADS];
        let safe = !["host", "sysfsdev"].contains(&key);
        let kept = ours && safe && keys.iter().any(|keys| keys.contains(&key));
        (setting.of.len() == depth && kept).then_some(setting)
    }

    pub(super) fn text(&self) -> String {
        format!("{}.{}={}", self.of.join("."), self.key, self.value)
    }

    /// Applies it to an option of `group` that it means.
    pub(super) fn apply(&self, group: &str, options: &mut Options) {
        match self.of.as_slice() {
            [of, id] if of == group && options.get("id") == Some(id.as_str()) => {
                options.set(&self.key, &self.value);
            }
            [_] if group == "device" => {
                let model = options.get("driver").or(options.get("model"));
                if model.is_some_and(|model| model.starts_with("virtio")) {
                    options.default_to(&self.key, &self.value);
                }
            }
            _ => {}
        }
    }
}
