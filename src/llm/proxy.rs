//! The proxies of the environment. The HTTP client finds them with the same library, but leaves out one that it cannot read, and
//! goes to the address without it.

use std::env::{self, VarError};
use std::net::IpAddr;

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::Url;

/// The variable whose proxy a request to an address goes through, or none if it goes there directly, as to this machine.
///
/// # Errors
/// A message if a variable names no proxy that can be used. It does not show the value, which can hold a password.
pub(crate) fn proxy_variable(url: &str) -> Result<Option<&'static str>, String> {
    // A request without an address fails by itself.
    let (Ok(url), Ok(address)) = (Url::parse(url), url.parse()) else { return Ok(None) };
    if is_loopback(&url) {
        return Ok(None);
    }
    let of_scheme = if url.scheme() == "https" { ["HTTPS_PROXY", "https_proxy"] } else { ["HTTP_PROXY", "http_proxy"] };
    for names in [of_scheme, ["ALL_PROXY", "all_proxy"]] {
        let Some((name, value)) = first_set(names)? else { continue };
        let Some(proxy) = Matcher::builder().all(value).build().intercept(&address) else {
            return Err(format!("{name} is no address of a proxy, as in http://proxy.example:3128"));
        };
        if proxy.uri().scheme_str().is_some_and(|scheme| scheme.starts_with("socks")) {
            return Err(format!("{name} names a SOCKS proxy, and tcompact goes only through HTTP proxies"));
        }
        let is_used = Matcher::from_env().intercept(&address).is_some();
        return Ok(is_used.then_some(name));
    }
    Ok(None)
}

/// The first variable that is set, and its value, unless that is empty.
fn first_set(names: [&'static str; 2]) -> Result<Option<(&'static str, String)>, String> {
    for name in names {
        match env::var(name) {
            Ok(value) if value.is_empty() => return Ok(None),
            Ok(value) => return Ok(Some((name, value))),
            Err(VarError::NotPresent) => {}
            Err(VarError::NotUnicode(_)) => return Err(format!("{name} is not UTF-8")),
        }
    }
    Ok(None)
}

/// Whether an address is one of this machine. `localhost.example.com` and `127.example.com` are not.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    match host.trim_matches(['[', ']']).parse::<IpAddr>().map(|address| address.to_canonical()) {
        Ok(address) => address.is_loopback() || address.is_unspecified(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_by_all_its_names() {
        let is_local =
            |scheme: &str, host: &str| is_loopback(&Url::parse(&format!("{scheme}://{host}/v1")).expect("an address"));
        for host in [
            "localhost",
            "LOCALHOST:11434",
            "localhost.",
            "api.localhost",
            "127.0.0.1",
            "127.9.8.7:80",
            "127.1",
            "0x7f.1",
            "2130706433",
            "[::1]",
            "[::1]:11434",
            "[::ffff:127.0.0.1]",
            "0.0.0.0:11434",
            "[::]",
            "me:pass@127.0.0.1",
        ] {
            assert!(is_local("http", host) && is_local("https", host), "{host}");
        }
        for host in [
            "128.0.0.1",
            "192.168.0.1",
            "localhost.example",
            "notlocalhost",
            "127.0.0.1.example",
            "127.example.com",
            "10.0.0.1",
            "[fe80::1]",
        ] {
            assert!(!is_local("http", host), "{host}");
        }
    }
}
