//! kube-rs: a controller and a reflector.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::controller::Action;
use kube::runtime::finalizer::{Event, finalizer};
use kube::runtime::{Controller, reflector, watcher};
use kube::{Api, Client, Config, ResourceExt as _};
use libtest_mimic::Trial;
use reeve_testkit::eventually;
use serde_json::json;
use tokio::runtime::Runtime;

pub(crate) const NAMES: [&str; 2] = [
    "kube::a_controller_sees_to_every_object",
    "kube::a_reflector_holds_what_a_list_shows",
];

const OBJECTS: usize = 300;
const FINALIZER: &str = "example.com/held";
const DEADLINE: Duration = Duration::from_mins(1);
/// How many requests are under way at once.
const AT_ONCE: usize = 16;

pub(crate) fn trials(runtime: &Arc<Runtime>, kubeconfig: &Path) -> Vec<Trial> {
    let [controller, reflector] = NAMES;
    let trial = |name: &str, run: fn(&Runtime, PathBuf) -> Result<()>| {
        let (runtime, kubeconfig) = (Arc::clone(runtime), kubeconfig.to_owned());
        Trial::test(name, move || {
            run(&runtime, kubeconfig).map_err(|error| format!("{error:#}").into())
        })
    };
    vec![
        trial(controller, |runtime, kubeconfig| {
            runtime.block_on(every_object_is_reconciled(&kubeconfig))
        }),
        trial(reflector, |runtime, kubeconfig| {
            runtime.block_on(store_equals_list(&kubeconfig))
        }),
    ]
}

async fn client(kubeconfig: &Path) -> Result<Client> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

async fn config_maps(client: &Client, namespace: &str) -> Result<Api<ConfigMap>> {
    let named = serde_json::from_value(json!({ "metadata": { "name": namespace } }))?;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces.create(&PostParams::default(), &named).await?;
    Ok(Api::namespaced(client.clone(), namespace))
}

fn config_map(name: &str, value: &str) -> Result<ConfigMap> {
    let object = json!({
        "metadata": { "name": name, "labels": { "case": "clients" } }, "data": { "value": value },
    });
    Ok(serde_json::from_value(object)?)
}

fn value_of(object: &ConfigMap) -> String {
    let data = object.data.as_ref();
    let value = data.and_then(|data| data.get("value"));
    value.cloned().unwrap_or_default()
}

async fn create(api: &Api<ConfigMap>, names: Vec<String>) -> Result<()> {
    let created = stream::iter(names.into_iter().map(|name| async move {
        let object = config_map(&name, "first")?;
        api.create(&PostParams::default(), &object).await?;
        anyhow::Ok(())
    }));
    created.buffer_unordered(AT_ONCE).try_collect().await
}

async fn change(api: &Api<ConfigMap>, names: Vec<String>, to: &str) -> Result<()> {
    let patch = json!({ "data": { "value": to } });
    let patch = &patch;
    let changed = stream::iter(names.into_iter().map(|name| async move {
        let params = PatchParams::default();
        api.patch(&name, &params, &Patch::Merge(patch)).await?;
        anyhow::Ok(())
    }));
    changed.buffer_unordered(AT_ONCE).try_collect().await
}

async fn delete(api: &Api<ConfigMap>, names: Vec<String>) -> Result<()> {
    let deleted = stream::iter(names.into_iter().map(|name| async move {
        api.delete(&name, &DeleteParams::default()).await?;
        anyhow::Ok(())
    }));
    deleted.buffer_unordered(AT_ONCE).try_collect().await
}

fn names(every: usize) -> Vec<String> {
    let numbers = (0..OBJECTS).filter(|number| number % every == 0);
    numbers.map(|number| format!("object-{number}")).collect()
}

/// What is known of the objects: their values by their names.
struct Known {
    api: Api<ConfigMap>,
    values: Mutex<BTreeMap<String, String>>,
    cleaned: Mutex<Vec<String>>,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot reconcile")]
struct Failed(#[source] Box<kube::runtime::finalizer::Error<std::convert::Infallible>>);

async fn reconcile(object: Arc<ConfigMap>, known: Arc<Known>) -> Result<Action, Failed> {
    let lock = |event: Event<ConfigMap>| {
        let mut values = known.values.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Apply(object) => {
                values.insert(object.name_any(), value_of(&object));
            }
            Event::Cleanup(object) => {
                values.remove(&object.name_any());
                let mut cleaned = known.cleaned.lock().unwrap_or_else(PoisonError::into_inner);
                cleaned.push(object.name_any());
            }
        }
        std::future::ready(Ok(Action::await_change()))
    };
    finalizer(&known.api, FINALIZER, object, lock)
        .await
        .map_err(|error| Failed(Box::new(error)))
}

async fn every_object_is_reconciled(kubeconfig: &Path) -> Result<()> {
    let client = client(kubeconfig).await?;
    let api = config_maps(&client, "k-controller").await?;
    let known = Arc::new(Known {
        api: api.clone(),
        values: Mutex::default(),
        cleaned: Mutex::default(),
    });
    // Half of them are there before the controller is.
    let (early, late): (Vec<_>, Vec<_>) = names(1)
        .into_iter()
        .enumerate()
        .partition(|(number, _)| number % 2 == 0);
    let of = |these: Vec<(usize, String)>| these.into_iter().map(|(_, name)| name).collect();
    create(&api, of(early)).await?;
    let controller = Controller::new(
        api.clone(),
        watcher::Config::default().labels("case=clients"),
    )
    .run(
        reconcile,
        |_, _, _| Action::requeue(Duration::from_millis(200)),
        Arc::clone(&known),
    )
    .for_each(|_| std::future::ready(()));
    let controller = tokio::spawn(controller);
    create(&api, of(late)).await?;
    wait_until_known(&known, "all are known", |_| Some("first")).await?;

    change(&api, names(3), "second").await?;
    wait_until_known(&known, "changes are known", |number| {
        Some(if number % 3 == 0 { "second" } else { "first" })
    })
    .await?;

    delete(&api, names(2)).await?;
    wait_until_known(&known, "deletions are known", |number| match number {
        _ if number % 2 == 0 => None,
        _ if number % 3 == 0 => Some("second"),
        _ => Some("first"),
    })
    .await?;
    eventually("the deleted are gone", DEADLINE, || async {
        let left = api
            .list(&ListParams::default().labels("case=clients"))
            .await?;
        let left = left.items.len();
        ensure!(left == OBJECTS / 2, "{left} objects are left");
        Ok(())
    })
    .await?;
    let mut cleaned = known
        .cleaned
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    cleaned.sort();
    cleaned.dedup();
    let mut expected = names(2);
    expected.sort();
    ensure!(cleaned == expected, "cleaned up were {cleaned:?}");
    controller.abort();
    Ok(())
}

/// Waits until exactly those are known for which there is a value, with that value.
async fn wait_until_known(
    known: &Known,
    what: &str,
    value: impl Fn(usize) -> Option<&'static str>,
) -> Result<()> {
    let expected: BTreeMap<String, String> = (0..OBJECTS)
        .filter_map(|number| Some((format!("object-{number}"), value(number)?.to_owned())))
        .collect();
    eventually(what, DEADLINE, || async {
        let values = known.values.lock().unwrap_or_else(PoisonError::into_inner);
        let wrong = expected
            .iter()
            .find(|(name, value)| values.get(*name) != Some(value));
        ensure!(wrong.is_none(), "not so: {wrong:?}");
        let (count, all) = (values.len(), expected.len());
        ensure!(count == all, "{count} are known instead of {all}");
        Ok(())
    })
    .await
}

async fn store_equals_list(kubeconfig: &Path) -> Result<()> {
    let client = client(kubeconfig).await?;
    let api = config_maps(&client, "k-reflector").await?;
    let (reader, writer) = reflector::store();
    // Small pages: the first list is of many.
    create(&api, names(4)).await?;
    let watched = watcher(api.clone(), watcher::Config::default().page_size(20));
    let reflected = reflector(writer, watched).for_each(|_| std::future::ready(()));
    let reflected = tokio::spawn(reflected);
    tokio::time::timeout(DEADLINE, reader.wait_until_ready())
        .await
        .context("the reflector has not listed")??;

    let rest = names(1).into_iter().filter(|name| !names(4).contains(name));
    tokio::try_join!(
        create(&api, rest.collect()),
        change(&api, names(4), "second"),
    )?;
    for round in 0..3 {
        let value = format!("round {round}");
        tokio::try_join!(
            change(&api, names(5), &value),
            delete(
                &api,
                names(3)
                    .into_iter()
                    .filter(|name| !names(5).contains(name))
                    .collect()
            ),
        )?;
        create(
            &api,
            names(3)
                .into_iter()
                .filter(|name| !names(5).contains(name))
                .collect(),
        )
        .await?;
    }
    delete(&api, names(7)).await?;

    let shown = |objects: &mut dyn Iterator<Item = &ConfigMap>| {
        objects
            .map(|object| {
                (
                    object.name_any(),
                    (object.resource_version(), object.data.clone()),
                )
            })
            .collect::<BTreeMap<_, _>>()
    };
    let listed = api.list(&ListParams::default()).await?.items;
    let listed = shown(&mut listed.iter());
    ensure!(listed.len() > OBJECTS / 2, "only {} are left", listed.len());
    eventually("the reflector holds the same", DEADLINE, || async {
        let held = reader.state();
        let held = shown(&mut held.iter().map(AsRef::as_ref));
        let missing = listed
            .iter()
            .find(|(name, one)| held.get(*name) != Some(one));
        ensure!(missing.is_none(), "not so: {missing:?}");
        ensure!(
            held.len() == listed.len(),
            "{} are held instead of {}",
            held.len(),
            listed.len()
        );
        Ok(())
    })
    .await?;
    reflected.abort();
    Ok(())
}
