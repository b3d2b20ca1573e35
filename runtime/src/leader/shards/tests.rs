//! Several processes compete for shards on one API server, which these tests replace by a map, in simulated time.

use std::collections::HashMap;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::*;

const COUNT: u16 = 4;

/// The Leases by name, with optimistic concurrency.
#[derive(Clone, Default)]
struct Leases(Arc<Mutex<HashMap<u16, Lease>>>);

#[derive(Clone)]
struct MapLock(Leases, u16);

impl Lock for MapLock {
    async fn read(&self) -> Result<Option<Lease>, LockError> {
        sleep(Duration::from_millis(5)).await;
        Ok(self.0.0.lock().get(&self.1).cloned())
    }

    async fn write(&self, mut lease: Lease) -> Result<Lease, LockError> {
        sleep(Duration::from_millis(5)).await;
        let mut leases = self.0.0.lock();
        let version = |lease: &Lease| lease.metadata.resource_version.clone();
        let current = leases.get(&self.1).and_then(version);
        if current != version(&lease) {
            return Err(LockError::Conflict);
        }
        let next = current.map_or(1, |current| current.parse::<u64>().unwrap() + 1);
        lease.metadata.resource_version = Some(next.to_string());
        leases.insert(self.1, lease.clone());
        Ok(lease)
    }
}

/// A process whose work on a shard is visible: which process works on it.
struct Worker {
    name: &'static str,
    ownership: Ownership,
    stop: CancellationToken,
    task: JoinHandle<Result<(), LeaderError>>,
}

fn start(leases: &Leases, name: &'static str) -> Worker {
    let (ownership, stop) = (Ownership::none_of(COUNT), CancellationToken::new());
    let process = Process {
        identity: name.into(),
        ownership: ownership.clone(),
        on_change: Arc::new(|_| {}),
        timings: LeaseTimings::CONTROLLER_RUNTIME,
        fence: Fence::default(),
        seen: watch::Sender::new(SeenLeases::of(COUNT)),
    };
    let lock = |shard| {
        (
            format!("shard-{shard}").into(),
            MapLock(leases.clone(), shard),
        )
    };
    let (locks, stopped) = ((0..COUNT).map(lock).collect(), stop.clone());
    let task = tokio::spawn(async move { process.run(locks, stopped).await });
    Worker {
        name,
        ownership,
        stop,
        task,
    }
}

impl Worker {
    /// The keys that it may work on, of a hundred.
    fn keys(&self) -> Vec<u16> {
        let may = |number: &u16| self.ownership.begin(&format!("cluster{number}")).is_some();
        (0..100).filter(may).collect()
    }

    fn shards(&self) -> usize {
        let first = |shard: u16| {
            let in_shard = |number: &u16| {
                self.ownership
                    .is_in_shard(&format!("cluster{number}"), shard)
            };
            (0..100).find(in_shard).unwrap()
        };
        let keys = self.keys();
        (0..COUNT)
            .filter(|shard| keys.contains(&first(*shard)))
            .count()
    }
}

/// Watches for some seconds that no key has two processes. Returns how many tenths of a second any key had none.
async fn watch_for(seconds: u64, workers: &[&Worker]) -> usize {
    let mut without = 0;
    for _ in 0..seconds * 10 {
        sleep(Duration::from_millis(100)).await;
        let mut holders = HashMap::new();
        for worker in workers {
            for key in worker.keys() {
                let other = holders.insert(key, worker.name);
                assert_eq!(other, None, "{} works on {key} too", worker.name);
            }
        }
        without += usize::from(holders.len() < 100);
    }
    without
}

#[tokio::test(start_paused = true)]
async fn shards_are_shared_evenly_and_no_key_has_two_processes() {
    let leases = Leases::default();
    let a = start(&leases, "a");
    watch_for(10, &[&a]).await;
    assert_eq!(a.shards(), 4, "there is nobody else");
    let b = start(&leases, "b");
    let without = watch_for(60, &[&a, &b]).await;
    assert_eq!((a.shards(), b.shards()), (2, 2));
    assert!(
        without < 150,
        "hand-overs took {without} tenths of a second"
    );
    let c = start(&leases, "c");
    watch_for(60, &[&a, &b, &c]).await;
    let mut held = [a.shards(), b.shards(), c.shards()];
    held.sort_unstable();
    assert_eq!(held, [1, 1, 2]);
    assert_eq!(watch_for(600, &[&a, &b, &c]).await, 0, "nothing moves");
}

#[tokio::test(start_paused = true)]
async fn shards_of_dead_process_are_taken_over_when_leases_run_out() {
    let leases = Leases::default();
    let (a, b) = (start(&leases, "a"), start(&leases, "b"));
    watch_for(60, &[&a, &b]).await;
    assert_eq!((a.shards(), b.shards()), (2, 2));
    b.task.abort();
    let without = watch_for(40, &[&a]).await;
    assert_eq!(a.shards(), 4);
    assert!((100..=200).contains(&without), "{without}");
    let c = start(&leases, "c");
    watch_for(60, &[&a, &c]).await;
    assert_eq!((a.shards(), c.shards()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn stopped_process_ends_its_work_before_it_gives_shards_up() {
    let leases = Leases::default();
    let (a, b) = (start(&leases, "a"), start(&leases, "b"));
    watch_for(60, &[&a, &b]).await;
    let key = format!("cluster{}", b.keys()[0]);
    let turn = b.ownership.begin(&key).unwrap();
    b.stop.cancel();
    watch_for(30, &[&a, &b]).await;
    assert!(!b.task.is_finished(), "it renews while it works");
    assert!(a.ownership.begin(&key).is_none());
    drop(turn);
    assert!(watch_for(10, &[&a, &b]).await < 60);
    assert!(b.task.await.unwrap().is_ok());
    assert_eq!(a.shards(), 4);
}

#[tokio::test(start_paused = true)]
async fn request_of_dead_process_delays_nobody_for_longer_than_a_lease() {
    let leases = Leases::default();
    let a = start(&leases, "a");
    watch_for(10, &[&a]).await;
    let lock = MapLock(leases.clone(), 3);
    let seen = watch::Sender::new(SeenLeases::of(COUNT));
    let dead = ShardLock::new(lock, 3, "dead".into(), seen);
    while dead.request("a", Timestamp::UNIX_EPOCH).await.is_err() {}
    watch_for(40, &[&a]).await;
    assert_eq!(a.shards(), 4);
    assert_eq!(watch_for(60, &[&a]).await, 0);
}
