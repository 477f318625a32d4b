// SPDX-License-Identifier: BSD-2-Clause

//! check.rs - asks from Rust: one handle, shared by a thread for each client.
//!
//!     rustc -O check.rs
//!     ./check 'bl6.example bl.example' 192.0.2.66 2001:db8::1
//!
//! DNSBLV6_SERVERS, when it is set, names resolvers in the place of resolv.conf's.

use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int, c_void};
use std::{env, process, ptr, thread};

const TIMEOUT_MS: c_int = 2000;

#[repr(C)]
#[derive(Default)]
struct Ip {
    bytes: [u8; 16],
}

/// The first members of struct dnsblv6_result, and room for all its 128 bytes.
#[repr(C)]
#[derive(Default)]
struct Answer {
    verdict: i32,
    score: i32,
    rest: [u64; 15],
}

#[link(name = "dnsblv6")]
extern "C" {
    fn dnsblv6_new(ret: *mut *mut c_void) -> c_int;
    fn dnsblv6_set(client: *mut c_void, key: *const c_char, value: *const c_char) -> c_int;
    fn dnsblv6_start(client: *mut c_void) -> c_int;
    fn dnsblv6_error(client: *const c_void) -> *const c_char;
    fn dnsblv6_free(client: *mut c_void);
    fn dnsblv6_ip_parse(text: *const c_char, ret: *mut Ip) -> c_int;
    fn dnsblv6_check(client: *mut c_void, ip: *const Ip, timeout_ms: c_int, ret: *mut Answer)
        -> c_int;
    fn dnsblv6_verdict_name(verdict: c_int) -> *const c_char;
    fn dnsblv6_strerror(status: c_int) -> *const c_char;
}

fn text(pointer: *const c_char) -> String {
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// A started handle, which any thread may use.
struct Client(*mut c_void);

unsafe impl Send for Client {}
unsafe impl Sync for Client {}

impl Client {
    fn start(options: &[(&str, String)]) -> Result<Client, String> {
        let mut handle = ptr::null_mut();
        if unsafe { dnsblv6_new(&mut handle) } < 0 {
            return Err("no memory".to_string());
        }
        let client = Client(handle);
        for (key, value) in options {
            let key = CString::new(*key).unwrap();
            let value = CString::new(value.as_str()).map_err(|error| error.to_string())?;
            if unsafe { dnsblv6_set(client.0, key.as_ptr(), value.as_ptr()) } < 0 {
                return Err(text(unsafe { dnsblv6_error(client.0) }));
            }
        }
        if unsafe { dnsblv6_start(client.0) } < 0 {
            return Err(text(unsafe { dnsblv6_error(client.0) }));
        }
        Ok(client)
    }

    fn check(&self, address: &str) -> Result<(String, i32), String> {
        let (mut ip, mut answer) = (Ip::default(), Answer::default());
        let name = CString::new(address).map_err(|error| error.to_string())?;
        let mut ret = unsafe { dnsblv6_ip_parse(name.as_ptr(), &mut ip) };
        if ret == 0 {
            ret = unsafe { dnsblv6_check(self.0, &ip, TIMEOUT_MS, &mut answer) };
        }
        if ret < 0 {
            return Err(text(unsafe { dnsblv6_strerror(ret) }));
        }
        Ok((text(unsafe { dnsblv6_verdict_name(answer.verdict) }), answer.score))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        unsafe { dnsblv6_free(self.0) }
    }
}

fn main() {
    let arguments: Vec<String> = env::args().collect();
    if arguments.len() < 3 {
        eprintln!("usage: {} ZONES ADDRESS ...", arguments[0]);
        process::exit(64);
    }
    let mut options = vec![("zones", arguments[1].clone())];
    if let Ok(servers) = env::var("DNSBLV6_SERVERS") {
        options.push(("servers", servers));
    }
    let client = Client::start(&options).unwrap_or_else(|error| {
        eprintln!("{error}");
        process::exit(78);
    });
    thread::scope(|scope| {
        for address in &arguments[2..] {
            let client = &client;
            scope.spawn(move || match client.check(address) {
                Ok((verdict, score)) => println!("{address}: {verdict}, score {score}"),
                Err(error) => eprintln!("{address}: {error}"),
            });
        }
    });
}
