//! Samples of tenants as IPFIX flows (RFC 7011), for collectors of traffic.
//!
//! A sample is two flows, one each way, with the tenant as `userName`. What its owner sends is `ingress`: the host
//! sees it come in. Collectors that know no names tell tenants apart by [`tenant_number`], as `ingressVRFID`. Numbers
//! of elements: IANA, "IPFIX Information Elements". Samples have no addresses, but pmacct passes over flows without:
//! both are 0.0.0.0. It reads names of a fixed length only.

use nicety_model::bill::{SLOT_SECONDS, Traffic, UsageRow};

/// Version of the protocol.
const VERSION: u16 = 10;
/// Of the set that describes records.
const TEMPLATE_SET: u16 = 2;
/// Of our records; the first that is free.
const TEMPLATE: u16 = 256;
/// Longest message: it fits in a datagram of any network.
const MESSAGE: usize = 1_400;
/// Bytes of a name, filled up with zeros.
const NAME: usize = 64;

/// Number and length of the elements of a record, in their order.
const FIELDS: [(u16, u16); 10] = [
    // flowStartMilliseconds, flowEndMilliseconds
    (152, 8),
    (153, 8),
    // octetDeltaCount, packetDeltaCount
    (1, 8),
    (2, 8),
    // flowDirection
    (61, 1),
    // ingressVRFID
    (234, 4),
    // userName
    (371, NAME as u16),
    // observationDomainName
    (300, NAME as u16),
    // sourceIPv4Address, destinationIPv4Address
    (8, 4),
    (12, 4),
];

/// Messages with the flows of all samples; each says what its records are, so that none needs another one.
/// `now` is in seconds since 1970.
pub fn messages(rows: &[UsageRow], now: i64) -> Vec<Vec<u8>> {
    let template = template();
    let mut messages = Vec::new();
    let (mut sent, mut records, mut count) = (0_u32, Vec::new(), 0_u32);
    let mut close = |records: &mut Vec<u8>, count: &mut u32| {
        if *count > 0 {
            messages.push(message(&template, records, (now, sent)));
            sent = sent.wrapping_add(*count);
            (*records, *count) = (Vec::new(), 0);
        }
    };
    for row in rows {
        for (direction, traffic) in [(0, &row.usage.sent), (1, &row.usage.received)] {
            let record = record(row, direction, traffic);
            // Headers of message and set.
            if 20 + template.len() + records.len() + record.len() > MESSAGE {
                close(&mut records, &mut count);
            }
            records.extend(record);
            count += 1;
        }
    }
    close(&mut records, &mut count);
    messages
}

/// The number that stands for a tenant on every host and in every month: FNV-1a of its name, in 32 bits.
pub fn tenant_number(tenant: &str) -> u32 {
    let mix = |sum: u32, byte: u8| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    tenant.bytes().fold(0x811c_9dc5, mix)
}

fn template() -> Vec<u8> {
    let mut set = Vec::new();
    let length = 8 + 4 * FIELDS.len();
    for word in [TEMPLATE_SET, length as u16, TEMPLATE, FIELDS.len() as u16] {
        set.extend(word.to_be_bytes());
    }
    for (element, length) in FIELDS {
        set.extend(element.to_be_bytes());
        set.extend(length.to_be_bytes());
    }
    set
}

fn record(row: &UsageRow, direction: u8, traffic: &Traffic) -> Vec<u8> {
    let millis = |time: i64| {
        u64::try_from(time)
            .unwrap_or(0)
            .saturating_mul(1_000)
            .to_be_bytes()
    };
    let mut record = Vec::with_capacity(192);
    record.extend(millis(row.start));
    record.extend(millis(row.start.saturating_add(SLOT_SECONDS)));
    record.extend(traffic.bytes.to_be_bytes());
    record.extend(traffic.frames.to_be_bytes());
    record.push(direction);
    record.extend(tenant_number(&row.tenant).to_be_bytes());
    for name in [&row.tenant, &row.host] {
        let end = (0..=NAME.min(name.len()))
            .rev()
            .find(|end| name.is_char_boundary(*end));
        let name = &name.as_bytes()[..end.unwrap_or(0)];
        record.extend(name);
        record.resize(record.len() + NAME - name.len(), 0);
    }
    record.extend([0; 8]);
    record
}

/// `before` is how many records were in the messages before this one.
fn message(template: &[u8], records: &[u8], (now, before): (i64, u32)) -> Vec<u8> {
    let set = 4 + records.len();
    let whole = 16 + template.len() + set;
    let mut message = Vec::with_capacity(whole);
    message.extend(VERSION.to_be_bytes());
    message.extend((whole as u16).to_be_bytes());
    message.extend(u32::try_from(now).unwrap_or(u32::MAX).to_be_bytes());
    message.extend(before.to_be_bytes());
    // Observation domain: one, whatever the host.
    message.extend(1_u32.to_be_bytes());
    message.extend(template);
    message.extend(TEMPLATE.to_be_bytes());
    message.extend((set as u16).to_be_bytes());
    message.extend(records);
    message
}

#[cfg(test)]
mod tests {
    use nicety_model::bill::Usage;

    use super::*;

    fn row(slot: i64, tenant: &str) -> UsageRow {
        let mut usage = Usage::default();
        usage.sent.bytes = 0x0102;
        usage.received.frames = 7;
        UsageRow {
            host: "kvm1".to_owned(),
            tenant: tenant.to_owned(),
            start: slot * SLOT_SECONDS,
            usage,
        }
    }

    #[test]
    fn messages_fit_in_datagrams_and_count_their_records() {
        let name = "ü".repeat(200);
        let rows: Vec<UsageRow> = (0..20).map(|slot| row(slot, &name)).collect();
        let messages = messages(&rows, 1_000);
        assert!(messages.len() > 1);
        let mut before = 0;
        for message in &messages {
            let word = |at: usize| u32::from_be_bytes(message[at..at + 4].try_into().unwrap());
            let length = usize::from(u16::from_be_bytes([message[2], message[3]]));
            assert_eq!((message[1], length), (10, message.len()));
            assert!(length <= MESSAGE);
            assert_eq!(word(8), before);
            let records = length - 16 - template().len() - 4;
            assert_eq!(records % 173, 0, "{records}");
            before += (records / 173) as u32;
        }
        assert_eq!(before, 40);
    }

    #[test]
    fn nothing_is_no_message() {
        assert!(messages(&[], 0).is_empty());
    }

    #[test]
    fn a_tenant_has_one_number() {
        // The test vectors of the hash's authors: "" and "a".
        assert_eq!(
            (tenant_number(""), tenant_number("a")),
            (0x811c_9dc5, 0xe40c_292c)
        );
    }
}
