//! What is believed of a NIC that does not answer.

use nicety_host::net_error::NetError;
use nicety_host::vf::Told;

/// What is known of a NIC: a driver that does not answer just now (EBUSY, EAGAIN) takes no function away.
pub fn believed(told: Result<Told, NetError>, last: Option<Told>) -> Option<Told> {
    match told {
        Ok(told) => Some(told),
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
        let told = |announced| Told {
            announced,
            ..Told::default()
        };
        assert_eq!(believed(Ok(told(2)), Some(told(7))), Some(told(2)));
        for busy in [libc::EBUSY, libc::EAGAIN, libc::EINVAL, libc::EOPNOTSUPP] {
            assert_eq!(believed(failed(busy), Some(told(7))), Some(told(7)));
            assert_eq!(believed(failed(busy), None), None);
        }
        for gone in [libc::ENODEV, libc::ENXIO] {
            assert_eq!(believed(failed(gone), Some(told(7))), None);
        }
    }
}
