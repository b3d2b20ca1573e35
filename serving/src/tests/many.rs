//! More connections than the limit.

use std::net::IpAddr;
use std::sync::Arc;

use futures::future::join_all;
use tokio::io::AsyncReadExt as _;

use super::server::{TestServer, generous, rest};
use crate::activity::{Activity, Protocol};
use crate::connections::{Admission, Connections, Slot};
use crate::{Budget, ClosedBecause, Limits};

fn of_four() -> Limits {
    Limits {
        connections: 4,
        ..generous()
    }
}

#[tokio::test]
async fn connection_without_a_request_is_closed_for_a_new_one() {
    let server = TestServer::http(of_four()).await;
    let silent = [0; 4].map(|_| server.connect());
    let mut silent = join_all(silent).await.into_iter();
    // The server accepts connections in their order.
    assert!(server.get("/").await.ends_with("ok"));
    assert_eq!(rest(silent.next().unwrap()).await, "");
    assert_eq!(server.closed(ClosedBecause::Evicted), 1);
    assert_eq!(server.closed(ClosedBecause::Refused), 0);
}

/// The kubelet probes while another client opens connections as fast as possible.
#[tokio::test]
async fn probes_are_answered_during_a_flood_of_connections() {
    let server = TestServer::http(of_four()).await;
    let mut flood = Vec::new();
    for _ in 0..20 {
        for _ in 0..20 {
            flood.push(server.connect().await);
        }
        assert!(server.get("/").await.ends_with("ok"));
    }
    let mut open = 0;
    for mut stream in flood {
        let mut byte = [0];
        let read = stream.read(&mut byte);
        let ended = tokio::time::timeout(std::time::Duration::from_millis(50), read);
        open += usize::from(ended.await.is_err());
    }
    assert!(open <= 4, "{open} connections are open");
}

#[tokio::test]
async fn connection_with_a_request_is_not_closed_for_another() {
    let server = TestServer::http(of_four()).await;
    let waiting = join_all((0..4).map(|_| server.get("/wait")));
    let others = async {
        server.until_running(4).await;
        for _ in 0..10 {
            assert_eq!(server.get("/").await, "");
        }
        server.open_gate(4);
    };
    let (waited, ()) = tokio::join!(waiting, others);
    for response in waited {
        assert!(response.ends_with("waited"), "{response}");
    }
    assert_eq!(server.closed(ClosedBecause::Refused), 10);
    assert!(server.get("/").await.ends_with("ok"));
}

/// A connection from an address; busy ones have a request that the server works on.
fn admitted(connections: &Connections, address: [u8; 4]) -> Option<(Slot, Arc<Activity>)> {
    let slot = match connections.admit(IpAddr::from(address)) {
        Admission::Free(slot) | Admission::Evicting(slot) => slot,
        Admission::Refused => return None,
    };
    let activity = Arc::new(Activity::new(Protocol::Http1));
    slot.established(&activity);
    Some((slot, activity))
}

#[tokio::test]
async fn address_with_the_most_connections_loses_one() {
    let connections = Connections::new(4);
    let few = admitted(&connections, [10, 0, 0, 1]).unwrap();
    let many = [0; 3].map(|_| admitted(&connections, [10, 0, 0, 2]).unwrap());
    let newcomer = admitted(&connections, [10, 0, 0, 3]);
    assert!(newcomer.is_some());
    // The oldest of that address, though the connection of the other one is older.
    many[0].0.evicted().await;
    assert!(futures::FutureExt::now_or_never(few.0.evicted()).is_none());
}

#[tokio::test]
async fn address_with_all_connections_loses_a_request_to_another_address() {
    let connections = Connections::new(4);
    let busy = [0; 4].map(|_| admitted(&connections, [10, 0, 0, 2]).unwrap());
    let work = busy.each_ref().map(|(_, activity)| activity.begin());
    assert!(admitted(&connections, [10, 0, 0, 2]).is_none());
    let newcomer = admitted(&connections, [10, 0, 0, 3]).unwrap();
    busy[0].0.evicted().await;
    let second = newcomer.1.begin();
    // Now one has three connections and the other has one, so a second is refused.
    assert!(admitted(&connections, [10, 0, 0, 3]).is_none());
    drop((work, second));
}

#[tokio::test]
async fn client_reserves_at_most_its_share_of_the_budget() {
    let budget = Budget::new(100, 40);
    let mut first = budget.reserve("greedy", 40).await.unwrap();
    let waits = futures::FutureExt::now_or_never(budget.reserve("greedy", 1));
    assert!(waits.is_none());
    let others = budget.reserve("other", 40).await.unwrap();
    assert_eq!(budget.free(), 20);
    first.shrink_to(5);
    assert_eq!(budget.free(), 55);
    assert!(budget.reserve("greedy", 35).await.is_some());
    drop((first, others));
    assert_eq!(budget.free(), 100);
}
