//! Liveness and readiness.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use sha2::{Digest, Sha256};

/// A check of the process; the text of an error is in the response.
pub type Check = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// The checks of `/healthz` and `/readyz`.
#[derive(Clone, Default)]
pub struct Probes {
    healthy: Vec<(&'static str, Check)>,
    ready: Vec<(&'static str, Check)>,
}

impl Probes {
    /// Adds a check to `/healthz`.
    #[must_use]
    pub fn healthz(mut self, name: &'static str, check: Check) -> Self {
        self.healthy.push((name, check));
        self
    }

    /// Adds a check to `/readyz`.
    #[must_use]
    pub fn readyz(mut self, name: &'static str, check: Check) -> Self {
        self.ready.push((name, check));
        self
    }

    /// The two pages: `ok`, or 500 with a line for each failure.
    pub fn router(self) -> Router {
        Router::new()
            .route("/healthz", get(answer).with_state(self.healthy))
            .route("/readyz", get(answer).with_state(self.ready))
    }
}

async fn answer(State(checks): State<Vec<(&'static str, Check)>>) -> (StatusCode, String) {
    let failed: Vec<String> = checks
        .iter()
        .filter_map(|(name, check)| Some(format!("[-]{name} failed: {}\n", check().err()?)))
        .collect();
    if failed.is_empty() {
        (StatusCode::OK, "ok".to_owned())
    } else {
        (StatusCode::INTERNAL_SERVER_ERROR, failed.concat())
    }
}

/// Fails permanently once one of the files has changed: then the kubelet restarts the process, which reads the new
/// credentials.
pub fn unchanged_files(files: Vec<PathBuf>) -> std::io::Result<Check> {
    let at_start = checksum(&files)?;
    let changed = std::sync::atomic::AtomicBool::new(false);
    Ok(Arc::new(move || {
        use std::sync::atomic::Ordering;
        if changed.load(Ordering::SeqCst) || checksum(&files).ok() != Some(at_start) {
            changed.store(true, Ordering::SeqCst);
            return Err("checksum not equal".to_owned());
        }
        Ok(())
    }))
}

fn checksum(files: &[PathBuf]) -> std::io::Result<[u8; 32]> {
    let mut sum = Sha256::new();
    for file in files {
        sum.update(std::fs::read(file)?);
    }
    Ok(sum.finalize().into())
}

/// A kubeconfig and the client certificate files in it.
pub fn kubeconfig_files(kubeconfig: &Path) -> Vec<PathBuf> {
    let mut files = vec![kubeconfig.to_owned()];
    if let Ok(config) = kube::config::Kubeconfig::read_from(kubeconfig) {
        let users = config
            .auth_infos
            .into_iter()
            .filter_map(|user| user.auth_info);
        files.extend(
            users
                .filter_map(|user| user.client_certificate)
                .map(PathBuf::from),
        );
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_file_fails_permanently() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "one").unwrap();
        let check = unchanged_files(vec![file.path().to_owned()]).unwrap();
        assert_eq!(check(), Ok(()));
        std::fs::write(file.path(), "two").unwrap();
        assert_eq!(check(), Err("checksum not equal".to_owned()));
        std::fs::write(file.path(), "one").unwrap();
        assert!(
            check().is_err(),
            "the credentials in use may still be the other ones"
        );
    }

    #[tokio::test]
    async fn response_names_failed_checks() {
        let probes = Probes::default().readyz("caches", Arc::new(|| Err("not synced".to_owned())));
        let (status, text) = answer(State(probes.ready)).await;
        assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(text, "[-]caches failed: not synced\n");
        let (status, text) = answer(State(probes.healthy)).await;
        assert_eq!((status, text.as_str()), (StatusCode::OK, "ok"));
    }
}
