//! Headless Chromium, where it is installed: what a page's script did, said and asked the network for.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Names that Chromium goes by.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/// What came of opening a page.
pub struct Page {
    /// The document after its script ran.
    pub dom: String,
    /// What was printed on the console, errors included.
    pub console: Vec<String>,
    /// Addresses that the page asked for over the network.
    pub requests: Vec<String>,
}

/// Chromium, or `None` where there is none; then says so.
pub fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .flat_map(|directory| NAMES.map(|name| directory.join(name)))
        .find(|path| path.is_file());
    if found.is_none() {
        eprintln!("skipped: no Chromium on the path; ./task setup installs it");
    }
    found
}

/// Opens a file of a directory.
pub fn open(chromium: &Path, directory: &Path, name: &str) -> Page {
    let net_log = directory.join("net-log.json");
    let output = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync", "--no-first-run", "--disable-extensions"])
        .args(["--disable-dev-shm-usage", "--enable-logging=stderr", "--v=0", "--virtual-time-budget=2000"])
        .arg(format!("--user-data-dir={}", directory.join("profile").display()))
        .arg(format!("--log-net-log={}", net_log.display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", directory.join(name).display()))
        .output()
        .expect("Chromium runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && dom.contains("</html>"), "{stderr}");
    let log = std::fs::read_to_string(&net_log).expect("Chromium logs its requests");
    let console = stderr.lines().filter(|line| line.contains(":CONSOLE")).map(str::to_owned).collect();
    Page { dom, console, requests: requests(&log) }
}

/// The requests that a page from disk makes. The browser's own, for updates and the like, are in the
/// log too; requests of a page are kept apart by the page's origin.
fn requests(log: &str) -> Vec<String> {
    let log: Value = serde_json::from_str(log).expect("the log is JSON");
    let events = log["events"].as_array().expect("the log has events");
    let of_page = |event: &&Value| {
        let key = event["params"]["network_isolation_key"].as_str().unwrap_or_default();
        key.starts_with("file:")
    };
    let urls = events.iter().filter(of_page).filter_map(|event| event["params"]["url"].as_str());
    urls.filter(|url| !url.starts_with("file:") && !url.starts_with("data:")).map(str::to_owned).collect()
}
