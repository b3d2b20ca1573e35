//! Creating.

use serde_json::Value;

use super::prepare::Part;
use super::{Call, Origin, Reply};
use crate::admission::Action;
use crate::builtin;
use crate::failure::{About, Failure};
use crate::meta;
use crate::request::query::WriteOptions;
use crate::store::{Key, Stale, Write};
use crate::tracking::{self, Writer};

/// How often a name is made up anew when it is taken.
const NAMES: usize = 8;

impl Call {
    pub(crate) fn create(mut self, body: &[u8]) -> Result<(Self, Reply), Failure> {
        let options = WriteOptions::of(&self.query, "CreateOptions")?;
        let body = super::body::parse(&self.content_type, body, &self.kind.kind)?;
        let object = self.decoded(body, options.field_validation)?;
        let reply = self.create_object(object, &options)?;
        Ok((self, Reply::Object(201, reply)))
    }

    /// Asks for the right to create, of those who came with another one.
    pub(crate) fn check_may_create(&self) -> Result<(), Failure> {
        self.server.check_right(
            &self.user,
            &crate::auth::Asked {
                verb: "create".to_owned(),
                group: self.kind.group.clone(),
                resource: self.kind.resource.clone(),
                namespace: self.namespace().to_owned(),
                name: self.name.clone().unwrap_or_default(),
                path: None,
            },
        )
    }

    /// Creates a decoded object and answers it as it is sent.
    pub(crate) fn create_object(
        &mut self,
        mut object: Value,
        options: &WriteOptions,
    ) -> Result<Value, Failure> {
        self.place(&mut object)?;
        if !meta::text(&object, "resourceVersion").is_empty() {
            return Err(Failure::internal_text(
                "resourceVersion should not be set on objects to be created",
            ));
        }
        let kept = self.kept_kind();
        let given = meta::text(&object, "name").to_owned();
        self.check_namespace(&given)?;
        meta::begin(&mut object, &kept);
        if kept.has_status()
            && self.part() == Part::Main
            && builtin::drops_status(&kept)
            && let Some(object) = object.as_object_mut()
        {
            object.remove("status");
        }
        let base = meta::text(&object, "generateName").to_owned();
        let made_up = given.is_empty() && !base.is_empty();
        for attempt in 1.. {
            let mut object = object.clone();
            if made_up {
                let most = 63 - 5;
                let base = base.get(..base.len().min(most)).unwrap_or_default();
                if let Some(metadata) = meta::metadata(&mut object) {
                    metadata.insert(
                        "name".to_owned(),
                        format!("{base}{}", meta::suffix()).into(),
                    );
                }
            }
            match self.create_named(object, &kept, options) {
                Err(failure) if made_up && failure.reason == "AlreadyExists" && attempt < NAMES => {
                }
                outcome => return outcome,
            }
        }
        Err(Failure::internal("no name is free"))
    }

    fn create_named(
        &mut self,
        mut object: Value,
        kept: &crate::kinds::Kind,
        options: &WriteOptions,
    ) -> Result<Value, Failure> {
        let name = meta::text(&object, "name").to_owned();
        Self::filled(kept, &mut object);
        // What is noted is what was asked for: not what the kind and others add.
        if self.origin != Origin::Apply {
            let writer = self.writer(options);
            tracking::track(kept, None, &mut object, &writer);
        }
        builtin::prepare_create(kept, &mut object, &self.user);
        self.admit(Action::Create, &name, &mut object, None)?;
        self.server
            .check_escalation(&self.user, kept, &object, None)?;
        self.server
            .check_signer(&self.user, kept, None, &object, None)?;
        let errors = Self::wrong(kept, &object, None);
        self.refuse_wrong(&name, &errors)?;
        self.judge(Action::Create, &name, &object, None)?;
        builtin::allocate(kept, &mut object, &self.server.store);
        self.warnings.extend(builtin::warnings(&object));
        let key = Key::new(self.namespace(), &name);
        if options.dry_run {
            if self.server.store.get(&self.kind.table, &key).is_some() {
                return Err(Failure::already_exists(&self.kind.about(), &name));
            }
            return Ok(self.presented(object));
        }
        let written = self
            .server
            .store
            .write(&self.kind.table, &key, Write::Create(object))
            .map_err(|stale| match stale {
                Stale::Unwritten => Failure::unwritten(),
                _ => Failure::already_exists(&self.kind.about(), &name),
            })?;
        let object = written.stored.value();
        self.server.after_write(kept, &object, None);
        Ok(self.presented(object))
    }

    pub(crate) fn writer(&self, options: &WriteOptions) -> Writer {
        Writer {
            manager: match &options.field_manager {
                Some(manager) => manager.clone(),
                None => self.agent.split('/').next().unwrap_or_default().to_owned(),
            },
            api_version: self.kind.api_version(),
            subresource: self.subresource.clone().unwrap_or_default(),
            now: meta::now(),
        }
    }

    /// Puts the object into the namespace of the path, and refuses one of another.
    pub(crate) fn place(&self, object: &mut Value) -> Result<(), Failure> {
        let given = meta::text(object, "namespace").to_owned();
        let namespace = self.namespace().to_owned();
        if !given.is_empty() && given != namespace {
            return Err(Failure::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        if let Some(metadata) = meta::metadata(object) {
            if namespace.is_empty() {
                metadata.remove("namespace");
            } else {
                metadata.insert("namespace".to_owned(), namespace.into());
            }
        }
        Ok(())
    }

    /// Refuses to make something in a namespace that is not there, or is going.
    fn check_namespace(&self, name: &str) -> Result<(), Failure> {
        let namespace = self.namespace();
        if namespace.is_empty() {
            return Ok(());
        }
        let found = self
            .server
            .store
            .get("/namespaces", &Key::new("", namespace));
        let Some(found) = found else {
            return Err(Failure::not_found(&About::new("", "namespaces"), namespace));
        };
        if !meta::is_deleted(&found.value()) {
            return Ok(());
        }
        let why = format!(
            "unable to create new content in namespace {namespace} because it is being terminated"
        );
        let mut failure = Failure::forbidden(&self.kind.about(), name, &why);
        if let Some(Value::Object(details)) = &mut failure.details {
            details.insert(
                "causes".to_owned(),
                serde_json::json!([{
                    "reason": "NamespaceTerminating",
                    "message": format!("namespace {namespace} is being terminated"),
                    "field": "metadata.namespace",
                }]),
            );
        }
        Err(failure)
    }
}
