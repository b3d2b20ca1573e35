//! The model: a server with a few objects, watches that lag behind it, and readers.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use kube::core::ApiResource;
use proptest::prelude::*;

use super::*;

const NAMES: u8 = 12;
const READERS: u8 = 3;

#[derive(Clone, Debug, PartialEq)]
struct Thing {
    name: u8,
    version: String,
    red: bool,
}

impl Versioned for Thing {
    fn key(&self) -> ObjectKey {
        key(self.name)
    }
    fn version(&self) -> (Option<&str>, Option<&str>) {
        (None, Some(&self.version))
    }
}

fn key(name: u8) -> ObjectKey {
    ObjectKey::new("n", format!("o{name}"))
}

fn kind() -> ApiResource {
    ApiResource {
        group: String::new(),
        version: "v1".to_owned(),
        api_version: "v1".to_owned(),
        kind: "Thing".to_owned(),
        plural: "things".to_owned(),
    }
}

#[derive(Clone, Debug)]
enum Step {
    Begin(u8),
    Read(u8, Question),
    End(u8),
    Forget(u8),
    Write {
        name: u8,
        red: bool,
    },
    Delete(u8),
    /// The watch of this rank delivers its next event.
    Deliver(u8),
    /// The watch of this rank lost its events (410, reconnect) and lists again.
    Relist(u8),
    /// The watch of this rank is refused for good.
    Refuse(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Question {
    Object(u8),
    Red,
    All,
}

impl Question {
    fn target(self) -> Target {
        let selection = |selector: &str| Target::Selection {
            kind: kind(),
            namespace: "n".to_owned(),
            selector: selector.to_owned(),
        };
        match self {
            Self::Object(name) => Target::Object {
                kind: kind(),
                key: key(name),
            },
            Self::Red => selection("red"),
            Self::All => selection(""),
        }
    }
}

enum Event {
    Listing,
    Applied(Thing),
    Deleted(u8),
    Listed,
}

/// A watch as the API server sees it: what it would send next.
#[derive(Default)]
struct Pipe(VecDeque<Event>);

#[derive(Default)]
struct World {
    server: BTreeMap<u8, Thing>,
    writes: u64,
    pipes: HashMap<Source, Pipe>,
    /// In the order in which they were opened, so that steps can name them.
    order: Vec<Source>,
    /// The latest answer each reader got in its latest batch, and whether it was woken since.
    answers: HashMap<(u8, Question), Vec<Thing>>,
    batch: HashMap<u8, HashSet<Question>>,
    woken: HashSet<u8>,
}

fn selects(source: &Source, thing: &Thing) -> bool {
    match &source.filter {
        Filter::Name(name) => key(thing.name).name == *name,
        Filter::Labels(_) => thing.red,
        Filter::All => true,
    }
}

impl World {
    fn truth(&self, question: Question) -> Vec<Thing> {
        let chosen = self.server.values().filter(|thing| match question {
            Question::Object(name) => thing.name == name,
            Question::Red => thing.red,
            Question::All => true,
        });
        let mut chosen: Vec<Thing> = chosen.cloned().collect();
        chosen.sort_by_key(|thing| key(thing.name));
        chosen
    }

    fn change(&mut self, name: u8, new: Option<&Thing>) {
        let old = self.server.remove(&name);
        if let Some(new) = new {
            self.server.insert(name, new.clone());
        }
        for (source, pipe) in &mut self.pipes {
            let before = old.as_ref().is_some_and(|old| selects(source, old));
            match new {
                Some(new) if selects(source, new) => pipe.0.push_back(Event::Applied(new.clone())),
                _ if before => pipe.0.push_back(Event::Deleted(name)),
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
        let listed = self.server.values().filter(|thing| selects(source, thing));
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
                Output::Wake(reader) => {
                    self.woken.insert(reader);
                }
            }
        }
    }

    fn at(&self, rank: u8) -> Option<Source> {
        let count = self.order.len();
        (count > 0).then(|| self.order[usize::from(rank) % count].clone())
    }

    fn deliver(&mut self, index: &mut Index<u8, Thing>, source: &Source) -> bool {
        let Some(event) = self
            .pipes
            .get_mut(source)
            .and_then(|pipe| pipe.0.pop_front())
        else {
            return false;
        };
        match event {
            Event::Listing => index.listing(source),
            Event::Applied(thing) => index.applied(source, thing),
            Event::Deleted(name) => index.deleted(source, &key(name)),
            Event::Listed => index.listed(source),
        }
        self.obey(index);
        true
    }

    fn take(&mut self, index: &mut Index<u8, Thing>, step: &Step) {
        match *step {
            Step::Begin(reader) => {
                index.begin(&reader);
                // A wake-up before a batch is answered by that batch.
                if self.woken.remove(&reader) {
                    self.answers.retain(|(who, _), _| *who != reader);
                }
                self.batch.insert(reader, HashSet::new());
            }
            Step::Read(reader, question) => self.read(index, reader, question),
            Step::End(reader) => {
                index.end(&reader);
                let batch = self.batch.remove(&reader);
                if let Some(batch) = batch {
                    self.answers
                        .retain(|(who, what), _| *who != reader || batch.contains(what));
                }
            }
            Step::Forget(reader) => {
                index.forget(&reader);
                self.batch.remove(&reader);
                self.answers.retain(|(who, _), _| *who != reader);
            }
            Step::Write { name, red } => {
                self.writes += 1;
                let version = self.writes.to_string();
                self.change(name, Some(&Thing { name, version, red }));
            }
            Step::Delete(name) => self.change(name, None),
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
            Step::Refuse(rank) => {
                if let Some(source) = self.at(rank) {
                    index.lost(&source, &Lost::Ended);
                }
            }
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

    /// Lets every watch catch up.
    fn settle(&mut self, index: &mut Index<u8, Thing>) {
        while let Some(source) = self
            .order
            .iter()
            .find(|source| !self.pipes[*source].0.is_empty())
            .cloned()
        {
            self.deliver(index, &source);
        }
    }
}

fn question() -> impl Strategy<Value = Question> {
    prop_oneof![
        8 => (0..NAMES).prop_map(Question::Object),
        1 => Just(Question::Red),
        1 => Just(Question::All),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0..READERS).prop_map(Step::Begin),
        8 => (0..READERS, question()).prop_map(|(reader, question)| Step::Read(reader, question)),
        2 => (0..READERS).prop_map(Step::End),
        1 => (0..READERS).prop_map(Step::Forget),
        6 => (0..NAMES, any::<bool>()).prop_map(|(name, red)| Step::Write { name, red }),
        2 => (0..NAMES).prop_map(Step::Delete),
        12 => any::<u8>().prop_map(Step::Deliver),
        2 => any::<u8>().prop_map(Step::Relist),
        1 => any::<u8>().prop_map(Step::Refuse),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    /// Whatever happens in whatever order: once the watches have caught up, every reader either
    /// holds answers that are true or has been woken since its latest batch began.
    #[test]
    fn a_reader_is_woken_after_every_change_of_what_it_read(
        steps in prop::collection::vec(step(), 1..160)
    ) {
        let mut index = Index::new();
        let mut world = World::default();
        for step in &steps {
            world.take(&mut index, step);
        }
        world.settle(&mut index);
        for ((reader, question), answer) in &world.answers {
            let truth = world.truth(*question);
            prop_assert!(
                *answer == truth || world.woken.contains(reader),
                "reader {} holds {:?} for {:?}, the server has {:?}, and it was not woken",
                reader, answer, question, truth
            );
        }
    }

    /// Nothing is watched that nobody reads.
    #[test]
    fn watches_end_with_their_readers(steps in prop::collection::vec(step(), 1..160)) {
        let mut index = Index::new();
        let mut world = World::default();
        for step in &steps {
            world.take(&mut index, step);
        }
        world.settle(&mut index);
        for reader in 0..READERS {
            world.take(&mut index, &Step::Forget(reader));
        }
        prop_assert!(world.pipes.is_empty(), "still open: {:?}", world.order);
        prop_assert!(index.lost.is_empty(), "losses are kept for nobody");
    }
}

#[test]
fn many_single_objects_of_a_kind_get_one_watch() {
    let mut index = Index::new();
    let mut world = World::default();
    world.take(&mut index, &Step::Begin(0));
    for name in 0..NAMES {
        world.take(&mut index, &Step::Read(0, Question::Object(name)));
        world.settle(&mut index);
    }
    assert_eq!(world.order.len(), 1, "{:?}", world.order);
    assert_eq!(world.order[0].filter, Filter::All);
}

#[test]
fn a_refused_watch_tells_its_reader_once_and_is_tried_again() {
    let mut index: Index<u8, Thing> = Index::new();
    let mut world = World::default();
    world.take(&mut index, &Step::Begin(0));
    let target = Question::Object(1).target();
    assert!(matches!(index.read(&0, &target), Answer::Pending));
    world.obey(&mut index);
    world.take(&mut index, &Step::Refuse(0));
    assert!(world.woken.contains(&0));
    assert!(matches!(index.read(&0, &target), Answer::Lost(_)));
    assert!(matches!(index.read(&0, &target), Answer::Pending));
    world.obey(&mut index);
    assert_eq!(world.order.len(), 1);
}
