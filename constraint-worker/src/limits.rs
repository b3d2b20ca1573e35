//! What a process may take.

use std::fs;
use std::path::Path;
use std::time::Duration;

/// How many bytes of memory an evaluation may take.
const MEMORY: u64 = 192 << 20;
/// Memory of each process for the program, its templates and its inventory, and memory of the process that starts the others.
const WORKER_BASE: u64 = 96 << 20;
const PARENT: u64 = 128 << 20;

/// What a process may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerLimits {
    /// The most processor time of one evaluation, or of compiling one template. The engine itself ends most evaluations earlier.
    pub processor_time: Duration,
    /// The longest that a process may take for one, however busy the machine is.
    pub wall_time: Duration,
    /// How many bytes of memory an evaluation may take besides what the templates and the inventory take.
    pub memory: u64,
    /// How many processes there are at most.
    pub processes: usize,
    /// How long a process stays without work.
    pub idle: Duration,
}

impl Default for WorkerLimits {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let cgroups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let container = memory_limit(Path::new("/sys/fs/cgroup"), &cgroups);
        Self {
            processor_time: Duration::from_millis(1250),
            wall_time: Duration::from_secs(30),
            memory: MEMORY,
            processes: processors.min(fitting_processes(container)),
            idle: Duration::from_mins(1),
        }
    }
}

/// How many processes fit into the memory of a container while each takes all that it may. When a container has no memory left, the
/// kernel kills all of its processes, the controller among them.
fn fitting_processes(container: Option<u64>) -> usize {
    let Some(container) = container else {
        return usize::MAX;
    };
    let fitting = container.saturating_sub(PARENT) / (WORKER_BASE + MEMORY);
    usize::try_from(fitting).unwrap_or(usize::MAX).max(1)
}

/// The lowest limit of memory among the cgroups of this process, in bytes. `cgroups` is what `/proc/self/cgroup` has, `root` where
/// cgroups are mounted. Within a container its own cgroup is usually the root.
fn memory_limit(root: &Path, cgroups: &str) -> Option<u64> {
    let limits = cgroups.lines().flat_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next(), fields.next(), fields.next());
        let (folder, file) = match controllers {
            Some("") => (root.to_owned(), "memory.max"),
            Some(names) if names.split(',').any(|name| name == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => return Vec::new(),
        };
        let path = path.unwrap_or_default().trim_start_matches('/');
        // The limit of a cgroup holds for those in it. The path of a container may be that of its host, which is not there.
        let files = Path::new(path)
            .ancestors()
            .map(|ancestor| folder.join(ancestor).join(file));
        let limit = |file| fs::read_to_string(file).ok()?.trim().parse().ok();
        files.filter_map(limit).collect()
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine's cgroups, by files with their contents.
    fn limit(files: &[[&str; 2]], cgroups: &str) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        for [file, content] in files {
            let file = root.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, content).unwrap();
        }
        memory_limit(root.path(), cgroups)
    }

    #[test]
    fn memory_limit_is_lowest_of_all_cgroups() {
        let half = ["memory.max", "536870912\n"];
        assert_eq!(limit(&[half], "0::/\n"), Some(512 << 20));
        assert_eq!(limit(&[half], "0::/kubepods/pod1/c1\n"), Some(512 << 20));
        let nested = [["a/memory.max", "2048\n"], ["a/b/memory.max", "max\n"]];
        assert_eq!(limit(&nested, "0::/a/b\n"), Some(2048));
        let first = [
            ["memory/memory.limit_in_bytes", "9223372036854771712\n"],
            ["memory/x/memory.limit_in_bytes", "4096\n"],
        ];
        assert_eq!(limit(&first, "5:cpu,cpuacct:/x\n4:memory:/x\n"), Some(4096));
        assert_eq!(limit(&[["memory.max", "max\n"]], "0::/\n"), None);
        assert_eq!(limit(&[half], ""), None);
    }

    #[test]
    fn gk_136_processes_fit_into_the_memory_of_their_container() {
        // The configuration policy controller has 512 MiB unless an administrator sets another limit.
        assert_eq!(fitting_processes(Some(512 << 20)), 1);
        assert_eq!(fitting_processes(Some(1 << 30)), 3);
        assert_eq!(fitting_processes(Some(64 << 20)), 1);
        assert_eq!(fitting_processes(None), usize::MAX);
        for container in [512, 1024, 4096, 65536].map(|mebibytes: u64| mebibytes << 20) {
            let processes = u64::try_from(fitting_processes(Some(container))).unwrap();
            assert!(PARENT + processes * (WORKER_BASE + MEMORY) <= container);
        }
    }
}
