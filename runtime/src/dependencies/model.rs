//! The model: a server with a few objects in a few namespaces, watches that lag behind it, and
//! readers. The limits are low, so that sources take over from each other all the time.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use kube::core::{ApiResource, Status};
use proptest::prelude::*;

use super::*;

const NAMES: u8 = 4;
const NAMESPACES: u8 = 4;
const READERS: u8 = 4;
const LOW: Limits = Limits {
    in_a_namespace: 2,
    namespaces: 2,
    of_a_kind: 5,
};

/// A namespace and a name.
type Id = (u8, u8);

#[derive(Clone, Debug, PartialEq)]
struct Thing {
    id: Id,
    version: String,
    red: bool,
}

impl Versioned for Thing {
    fn key(&self) -> ObjectKey {
        key(self.id)
    }
    fn version(&self) -> (Option<&str>, Option<&str>) {
        (None, Some(&self.version))
    }
    fn label(&self, name: &str) -> Option<&str> {
        (name == "red" && self.red).then_some("yes")
    }
}

fn namespace(number: u8) -> String {
    format!("n{number}")
}

fn key((place, name): Id) -> ObjectKey {
    ObjectKey::new(namespace(place), format!("o{name}"))
}

fn kind() -> Arc<ApiResource> {
    Arc::new(ApiResource {
        group: String::new(),
        version: "v1".to_owned(),
        api_version: "v1".to_owned(),
        kind: "Thing".to_owned(),
        plural: "things".to_owned(),
    })
}

#[derive(Clone, Debug)]
enum Step {
    Begin(u8),
    Read(u8, Question),
    /// Reads, and waits for the watch that answers as long as nothing else happens.
    Ask(u8, Question),
    End(u8),
    Forget(u8),
    Write {
        id: Id,
        red: bool,
    },
    Delete(Id),
    /// The watch of this rank delivers its next event.
    Deliver(u8),
    /// The watch of this rank lost its events (410, reconnect) and lists again.
    Relist(u8),
    /// The watch of this rank is refused for good.
    Refuse(u8, Reason),
    /// The cached refusals expire.
    Later,
}

#[derive(Clone, Copy, Debug)]
enum Reason {
    Ended,
    NotFound,
}

impl Reason {
    fn lost(self) -> Lost {
        match self {
            Self::Ended => Lost::Ended,
            Self::NotFound => {
                let status = Status::failure("gone", "NotFound").with_code(404);
                Lost::Refused(Arc::new(kube::Error::Api(Box::new(status))))
            }
        }
    }
}

/// Selectors that the index applies, and one that only the server applies.
const SELECTORS: [&str; 4] = ["", "red", "!red", "red>odd"];

fn selects(selector: &str, thing: &Thing) -> bool {
    match selector {
        "" => true,
        "!red" => !thing.red,
        _ => thing.red,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Question {
    Object(Id),
    Named(u8),
    Select {
        namespace: Option<u8>,
        selector: usize,
    },
}

impl Question {
    fn target(self) -> Target {
        let kind = kind();
        match self {
            Self::Object(id) => Target::Object { kind, key: key(id) },
            Self::Named(name) => Target::Named {
                kind,
                name: key((0, name)).name,
            },
            Self::Select {
                namespace: place,
                selector,
            } => Target::Selection {
                kind,
                namespace: place.map(namespace).unwrap_or_default(),
                selector: SELECTORS[selector].to_owned(),
            },
        }
    }

    fn asks_for(self, thing: &Thing) -> bool {
        match self {
            Self::Object(id) => thing.id == id,
            Self::Named(name) => thing.id.1 == name,
            Self::Select {
                namespace,
                selector,
            } => {
                namespace.is_none_or(|namespace| namespace == thing.id.0)
                    && selects(SELECTORS[selector], thing)
            }
        }
    }
}

enum Event {
    Listing,
    Applied(Thing),
    Deleted(Id),
    Listed,
}

/// A watch as the API server sees it: what it would send next.
#[derive(Default)]
struct Pipe(VecDeque<Event>);

#[derive(Default)]
struct World {
    server: BTreeMap<Id, Thing>,
    writes: u64,
    pipes: HashMap<Source, Pipe>,
    /// In the order in which they were opened, so that steps can name them.
    order: Vec<Source>,
    /// The latest answer each reader got in its latest batch, and whether it was enqueued since.
    answers: HashMap<(u8, Question), Vec<Thing>>,
    batch: HashMap<u8, HashSet<Question>>,
    enqueued: HashSet<u8>,
}

fn sends(source: &Source, thing: &Thing) -> bool {
    let is_there = source.namespace.is_empty() || source.namespace == namespace(thing.id.0);
    is_there
        && match &source.filter {
            Filter::Name(name) => key(thing.id).name == *name,
            Filter::Labels(selector) => selects(selector, thing),
            Filter::All => true,
        }
}

fn index() -> Index<u8, Thing> {
    Index::new(LOW, Instant::now())
}

impl World {
    fn truth(&self, question: Question) -> Vec<Thing> {
        let chosen = self.server.values();
        let chosen = chosen.filter(|thing| question.asks_for(thing));
        let mut chosen: Vec<Thing> = chosen.cloned().collect();
        chosen.sort_by_key(|thing| key(thing.id));
        chosen
    }

    fn change(&mut self, id: Id, new: Option<&Thing>) {
        let old = self.server.remove(&id);
        if let Some(new) = new {
            self.server.insert(id, new.clone());
        }
        for (source, pipe) in &mut self.pipes {
            let before = old.as_ref().is_some_and(|old| sends(source, old));
            match new {
                Some(new) if sends(source, new) => pipe.0.push_back(Event::Applied(new.clone())),
                _ if before => pipe.0.push_back(Event::Deleted(id)),
                _ => {}
            }
        }
    }

    fn relist(&mut self, source: &Source) {
        let Some(pipe) = self.pipes.get_mut(source) else {
            return;
        };
        pipe.0.clear();
        pipe.0.push_back(Event::Listing);
        let listed = self.server.values().filter(|thing| sends(source, thing));
        pipe.0.extend(listed.cloned().map(Event::Applied));
        pipe.0.push_back(Event::Listed);
    }

    fn obey(&mut self, index: &mut Index<u8, Thing>) {
        for output in index.outputs() {
            match output {
                Output::Start(source) => {
                    assert!(
                        !self.pipes.contains_key(&source),
                        "opened twice: {source:?}"
                    );
                    self.pipes.insert(source.clone(), Pipe::default());
                    self.order.push(source.clone());
                    self.relist(&source);
                }
                Output::Stop(source) => {
                    assert!(self.pipes.remove(&source).is_some(), "not open: {source:?}");
                    self.order.retain(|open| *open != source);
                }
                Output::Enqueue(reader) => {
                    self.enqueued.insert(reader);
                }
            }
        }
    }

    fn at(&self, rank: u8) -> Option<Source> {
        let count = self.order.len();
        (count > 0).then(|| self.order[usize::from(rank) % count].clone())
    }

    fn deliver(&mut self, index: &mut Index<u8, Thing>, source: &Source) {
        let pipe = self.pipes.get_mut(source);
        match pipe.and_then(|pipe| pipe.0.pop_front()) {
            Some(Event::Listing) => index.listing(source),
            Some(Event::Applied(thing)) => index.applied(source, thing),
            Some(Event::Deleted(id)) => index.deleted(source, &key(id)),
            Some(Event::Listed) => index.listed(source),
            None => {}
        }
        self.obey(index);
    }

    fn take(&mut self, index: &mut Index<u8, Thing>, step: &Step) {
        match *step {
            Step::Begin(reader) => {
                index.begin(&reader);
                // An enqueue before a batch is answered by that batch.
                if self.enqueued.remove(&reader) {
                    self.answers.retain(|(who, _), _| *who != reader);
                }
                self.batch.insert(reader, HashSet::new());
            }
            Step::Read(reader, question) => self.read(index, reader, question),
            Step::Ask(reader, question) => self.ask(index, reader, question),
            Step::End(reader) => {
                index.end(&reader);
                if let Some(batch) = self.batch.remove(&reader) {
                    self.answers
                        .retain(|(who, what), _| *who != reader || batch.contains(what));
                }
            }
            Step::Forget(reader) => {
                index.unwatch(&reader);
                self.batch.remove(&reader);
                self.answers.retain(|(who, _), _| *who != reader);
            }
            Step::Write { id, red } => {
                self.writes += 1;
                let version = self.writes.to_string();
                self.change(id, Some(&Thing { id, version, red }));
            }
            Step::Delete(id) => self.change(id, None),
            Step::Deliver(rank) => {
                if let Some(source) = self.at(rank) {
                    self.deliver(index, &source);
                }
            }
            Step::Relist(rank) => {
                if let Some(source) = self.at(rank) {
                    self.relist(&source);
                }
            }
            Step::Refuse(rank, reason) => {
                if let Some(source) = self.at(rank) {
                    index.lost(&source, &reason.lost());
                }
            }
            Step::Later => index.tick(index.now + BARRED),
        }
        self.obey(index);
    }

    fn read(&mut self, index: &mut Index<u8, Thing>, reader: u8, question: Question) {
        let Some(batch) = self.batch.get_mut(&reader) else {
            return;
        };
        batch.insert(question);
        self.answers.remove(&(reader, question));
        let found = index.read(&reader, &question.target());
        self.obey(index);
        if let Answer::Known(things) = found {
            let things = things.iter().map(|thing| (**thing).clone()).collect();
            self.answers.insert((reader, question), things);
        }
    }

    fn ask(&mut self, index: &mut Index<u8, Thing>, reader: u8, question: Question) {
        if !self.batch.contains_key(&reader) {
            self.take(index, &Step::Begin(reader));
        }
        self.read(index, reader, question);
        let Some(source) = index.serving.get(&question.target()).cloned() else {
            return;
        };
        while index.sources.get(&source).is_some_and(|it| !it.ready) {
            self.deliver(index, &source);
        }
        self.read(index, reader, question);
    }

    /// Every watch delivers all its events.
    fn settle(&mut self, index: &mut Index<u8, Thing>) {
        let late = |world: &Self| {
            let mut order = world.order.iter();
            order
                .find(|source| !world.pipes[*source].0.is_empty())
                .cloned()
        };
        while let Some(source) = late(self) {
            self.deliver(index, &source);
        }
    }

    /// Reads until there is an answer, as a batch does.
    fn answered(&mut self, index: &mut Index<u8, Thing>, question: Question) -> Vec<Thing> {
        for _ in 0..4 {
            self.read(index, 0, question);
            if let Some(answer) = self.answers.get(&(0, question)) {
                return answer.clone();
            }
            self.settle(index);
        }
        panic!("{question:?} waits for ever, open: {:?}", self.order);
    }
}

fn id() -> impl Strategy<Value = Id> {
    (0..NAMESPACES, 0..NAMES)
}

fn question() -> impl Strategy<Value = Question> {
    let place = prop_oneof![4 => (0..NAMESPACES).prop_map(Some), 1 => Just(None)];
    let select = (place, 0..SELECTORS.len()).prop_map(|(namespace, selector)| Question::Select {
        namespace,
        selector,
    });
    prop_oneof![3 => id().prop_map(Question::Object), 2 => select, 1 => (0..NAMES).prop_map(Question::Named)]
}

fn step() -> impl Strategy<Value = Step> {
    let reason = prop_oneof![3 => Just(Reason::Ended), 1 => Just(Reason::NotFound)];
    prop_oneof![
        3 => (0..READERS).prop_map(Step::Begin),
        3 => (0..READERS, question()).prop_map(|(reader, question)| Step::Read(reader, question)),
        8 => (0..READERS, question()).prop_map(|(reader, question)| Step::Ask(reader, question)),
        2 => (0..READERS).prop_map(Step::End),
        1 => (0..READERS).prop_map(Step::Forget),
        6 => (id(), any::<bool>()).prop_map(|(id, red)| Step::Write { id, red }),
        2 => id().prop_map(Step::Delete),
        4 => any::<u8>().prop_map(Step::Deliver),
        1 => any::<u8>().prop_map(Step::Relist),
        1 => (any::<u8>(), reason).prop_map(|(rank, reason)| Step::Refuse(rank, reason)),
        1 => Just(Step::Later),
    ]
}

fn played(steps: &[Step]) -> (World, Index<u8, Thing>) {
    let (mut world, mut index) = (World::default(), index());
    for step in steps {
        world.take(&mut index, step);
    }
    world.settle(&mut index);
    (world, index)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// For any sequence of steps: once the watches have delivered everything, every reader either holds current
    /// answers or has been enqueued since its latest batch began.
    #[test]
    fn reader_is_enqueued_after_every_change_of_what_it_read(
        steps in prop::collection::vec(step(), 1..80)
    ) {
        let (world, _) = played(&steps);
        for ((reader, question), answer) in &world.answers {
            let truth = world.truth(*question);
            prop_assert!(
                *answer == truth || world.enqueued.contains(reader),
                "reader {} holds {:?} for {:?}, the server has {:?}, and it was not enqueued",
                reader, answer, question, truth
            );
        }
    }

    /// For any sequence of steps every question is answered, and the answer is current.
    #[test]
    fn every_read_is_answered(
        steps in prop::collection::vec(step(), 1..60),
        questions in prop::collection::vec(question(), 1..12),
    ) {
        let (mut world, mut index) = played(&steps);
        world.take(&mut index, &Step::Begin(0));
        for question in questions {
            let answer = world.answered(&mut index, question);
            prop_assert_eq!(answer, world.truth(question), "{:?}", question);
        }
    }

    /// Only targets with readers are watched, and no question has two watches.
    #[test]
    fn watches_end_with_their_readers(steps in prop::collection::vec(step(), 1..80)) {
        let (mut world, mut index) = played(&steps);
        for source in &world.order {
            let wider = world.order.iter().find(|wide| wide.contains(source));
            prop_assert!(wider.is_none(), "{:?} is open beside {:?}", source, wider);
        }
        for reader in 0..READERS {
            world.take(&mut index, &Step::Forget(reader));
        }
        prop_assert!(world.pipes.is_empty(), "still open: {:?}", world.order);
        prop_assert!(index.lost.is_empty(), "losses are kept for nobody");
        prop_assert!(index.of_kind.is_empty() && index.objects() == 0);
    }
}

/// Reads all questions in one batch and returns the open watches.
fn open_after(questions: impl IntoIterator<Item = Question>) -> Vec<Source> {
    let (mut world, mut index) = (World::default(), index());
    world.take(&mut index, &Step::Begin(0));
    for question in questions {
        world.answered(&mut index, question);
    }
    world.order
}

fn source(namespace: &str, filter: Filter) -> Source {
    Source {
        kind: kind(),
        namespace: namespace.to_owned(),
        filter,
    }
}

#[test]
fn many_objects_of_one_namespace_share_one_watch() {
    let open = open_after((0..100).map(|name| Question::Object((1, name))));
    assert_eq!(open, [source("n1", Filter::All)]);
}

#[test]
fn object_in_many_namespaces_shares_one_watch_of_its_name() {
    let open = open_after((0..100).map(|place| Question::Object((place, 1))));
    assert_eq!(open, [source("", Filter::Name("o1".to_owned()))]);
}

#[test]
fn different_objects_in_many_namespaces_share_one_watch() {
    let open = open_after((0..100).map(|number| Question::Object((number, number))));
    assert_eq!(open, [source("", Filter::All)]);
}

#[test]
fn selection_in_many_namespaces_shares_one_watch() {
    let of = |selector: usize| {
        let all = (0..100).map(move |namespace| Question::Select {
            namespace: Some(namespace),
            selector,
        });
        open_after(all)
    };
    assert_eq!(of(0), [source("", Filter::All)]);
    let red = Filter::Labels("red".to_owned());
    assert_eq!(of(1), [source("", red)]);
    let odd = Filter::Labels("red>odd".to_owned());
    assert_eq!(of(3), [source("", odd)], "the server filters");
}

#[test]
fn refused_watch_enqueues_its_reader_once_and_is_retried() {
    let (mut world, mut index) = (World::default(), index());
    world.take(&mut index, &Step::Begin(0));
    let target = Question::Object((1, 1)).target();
    assert!(matches!(index.read(&0, &target), Answer::Pending));
    world.obey(&mut index);
    world.take(&mut index, &Step::Refuse(0, Reason::Ended));
    assert!(world.enqueued.contains(&0));
    assert!(matches!(index.read(&0, &target), Answer::Lost(_)));
    assert!(matches!(index.read(&0, &target), Answer::Pending));
    world.obey(&mut index);
    assert_eq!(world.order.len(), 1);
}

#[test]
fn refusal_without_echo_enqueues_only_readers_with_an_answer() {
    let (mut world, mut index) = (World::default(), index());
    index.echoes = false;
    let question = Question::Object((1, 1));
    world.take(&mut index, &Step::Begin(0));
    world.take(&mut index, &Step::Read(0, question));
    world.take(&mut index, &Step::Refuse(0, Reason::Ended));
    assert!(!world.enqueued.contains(&0), "its read is refused");
    assert!(matches!(
        index.read(&0, &question.target()),
        Answer::Lost(_)
    ));
    world.take(&mut index, &Step::Ask(0, question));
    world.take(&mut index, &Step::End(0));
    world.take(&mut index, &Step::Refuse(0, Reason::Ended));
    assert!(world.enqueued.contains(&0), "its answer counts no more");
}

#[test]
fn refused_shared_watch_is_split_and_retried_after_a_while() {
    let (mut world, mut index) = (World::default(), index());
    world.take(&mut index, &Step::Begin(0));
    let mut refused = 0;
    let mut read = |world: &mut World, index: &mut Index<u8, Thing>, place: u8| {
        world.read(index, 0, Question::Object((place, 1)));
        let shared = world
            .order
            .iter()
            .position(|source| source.namespace.is_empty());
        if let Some(rank) = shared {
            refused += 1;
            let rank = u8::try_from(rank).unwrap();
            world.take(index, &Step::Refuse(rank, Reason::Ended));
        }
        world.answered(index, Question::Object((place, 1)));
        refused
    };
    for place in 0..50 {
        read(&mut world, &mut index, place);
    }
    assert_eq!(read(&mut world, &mut index, 50), 1, "asked once for all");
    assert_eq!(world.order.len(), 51, "each has its own");
    world.take(&mut index, &Step::Later);
    assert_eq!(read(&mut world, &mut index, 51), 2);
}

#[test]
fn shared_watch_of_deleted_kind_enqueues_all_its_readers() {
    let (mut world, mut index) = (World::default(), index());
    world.take(&mut index, &Step::Begin(0));
    for place in 0..10 {
        world.answered(&mut index, Question::Object((place, 1)));
    }
    assert_eq!(world.order.len(), 1);
    world.take(&mut index, &Step::Refuse(0, Reason::NotFound));
    let lost = (0..10).filter(|place| {
        let target = Question::Object((*place, 1)).target();
        matches!(index.read(&0, &target), Answer::Lost(_))
    });
    assert_eq!(lost.count(), 10);
    world.obey(&mut index);
    assert!(
        world.order.is_empty(),
        "nobody asks again: {:?}",
        world.order
    );
}
