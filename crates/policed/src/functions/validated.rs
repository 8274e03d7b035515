//! What holds of a NIC that does not answer.

use nicety_netdev::net_error::NetError;
use nicety_netdev::vf::FunctionList;

/// What is known of a NIC: a driver that does not answer just now (EBUSY, EAGAIN) takes no function away.
pub fn validated(
    read: Result<FunctionList, NetError>,
    last: Option<FunctionList>,
) -> Option<FunctionList> {
    match read {
        Ok(list) => Some(list),
        Err(error) if error.is_not_found() => None,
        Err(_) => last,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_that_is_busy_takes_no_function_away() {
        let failed = |errno| {
            let error = std::io::Error::from_raw_os_error(errno);
            Err(NetError::new("read switch of", "eth0", error))
        };
        let list = |announced| FunctionList {
            announced,
            ..FunctionList::default()
        };
        assert_eq!(validated(Ok(list(2)), Some(list(7))), Some(list(2)));
        for busy in [libc::EBUSY, libc::EAGAIN, libc::EINVAL, libc::EOPNOTSUPP] {
            assert_eq!(validated(failed(busy), Some(list(7))), Some(list(7)));
            assert_eq!(validated(failed(busy), None), None);
        }
        for gone in [libc::ENODEV, libc::ENXIO] {
            assert_eq!(validated(failed(gone), Some(list(7))), None);
        }
    }
}
