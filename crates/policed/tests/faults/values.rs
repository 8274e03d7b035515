//! Values in the store as another version of nicety would write them.

use etcd_client::{Client, Compare, CompareOp, KeyValue, PutOptions, Txn, TxnOp};
use serde_json::{Value, json};

/// A client of the campaign's own, in the namespace where this is called.
pub fn ask<T>(endpoint: &str, work: impl AsyncFn(&mut Client) -> T) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().unwrap();
    runtime.block_on(async {
        let mut client = Client::connect([endpoint], None).await.unwrap();
        work(&mut client).await
    })
}

async fn read(client: &mut Client, key: &str) -> Option<KeyValue> {
    client.get(key, None).await.unwrap().take_kvs().pop()
}

/// Writes another value under the same lease, unless the key has changed meanwhile.
async fn replace(client: &mut Client, found: &KeyValue, value: Vec<u8>) -> bool {
    let same = Compare::mod_revision(found.key(), CompareOp::Equal, found.mod_revision());
    let under = (found.lease() != 0).then(|| PutOptions::new().with_lease(found.lease()));
    let put = TxnOp::put(found.key(), value, under);
    let txn = Txn::new().when([same]).and_then([put]);
    client.txn(txn).await.unwrap().succeeded()
}

/// Changes a value. What stood there before; none where the key is not there.
pub async fn change(
    client: &mut Client,
    key: &str,
    to: impl Fn(&[u8]) -> Vec<u8>,
) -> Option<Vec<u8>> {
    loop {
        let found = read(client, key).await?;
        if replace(client, &found, to(found.value())).await {
            return Some(found.value().to_vec());
        }
    }
}

/// As a version with other fields writes it: an older one, or one of the same schema.
pub fn other_fields(bytes: &[u8], schema: u32) -> Vec<u8> {
    let mut value: Value = serde_json::from_slice(bytes).unwrap();
    value["schema"] = json!(schema);
    value["flavour"] = json!({ "of": ["another", "version"] });
    serde_json::to_vec(&value).unwrap()
}

/// As a newer version writes it. The marker is no JSON.
pub fn newer(bytes: &[u8]) -> Vec<u8> {
    if bytes.starts_with(b"{") {
        br#"{"schema":2,"everything":"else"}"#.to_vec()
    } else {
        b"nicety cluster 2".to_vec()
    }
}
