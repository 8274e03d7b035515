//! One caller: its command, from the first message to the exit code.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::beat::{self, Heard};
use crate::init::BIN;
use crate::wire::{CHUNK, Decoder, Message, Size, Start, ToGuest, ToHost};

/// A running command and its ends of the streams.
struct Job {
    child: Child,
    ended: OwnedFd,
    input: Option<OwnedFd>,
    output: Option<OwnedFd>,
    errors: Option<OwnedFd>,
    /// Input that the command has not taken yet.
    pending: Vec<u8>,
    input_ends: bool,
    terminal: bool,
}

/// What a caller's end means.
#[derive(Debug)]
pub struct Gone;

/// Serves one caller until its command ends or it goes away; a command without a caller is
/// ended too. The caller hears of the CPUs meanwhile.
pub fn serve(port: BorrowedFd<'_>, heard: Heard<'_>) -> Result<(), Gone> {
    let mut decoder = Decoder::default();
    let start = loop {
        wait(port, PollFlags::IN)?;
        receive(port, &mut decoder)?;
        match decoder.message().map_err(|_| Gone)? {
            Some(ToGuest::Start(start)) => break start,
            Some(_) => return Err(Gone),
            None => {}
        }
    };
    let mut job = match launch(&start) {
        Ok(job) => job,
        Err(why) => return send(port, &ToHost::Refused(why)),
    };
    let result =
        send(port, &ToHost::Started).and_then(|()| follow(port, &mut decoder, &mut job, heard));
    match result {
        Ok(status) => {
            // What the command wrote to the host's directories is there before its exit code.
            rustix::fs::sync();
            send(port, &ending(status))
        }
        Err(gone) => {
            job.signal(Signal::KILL);
            let _ = job.child.wait();
            Err(gone)
        }
    }
}

fn ending(status: ExitStatus) -> ToHost {
    let byte = |number: i32| u8::try_from(number).unwrap_or(u8::MAX);
    match status.signal() {
        Some(number) => ToHost::Signalled(byte(number)),
        None => ToHost::Exited(byte(status.code().unwrap_or(0))),
    }
}

/// Carries bytes until the command has ended and everything it wrote is sent.
fn follow(
    port: BorrowedFd<'_>,
    decoder: &mut Decoder,
    job: &mut Job,
    mut heard: Heard<'_>,
) -> Result<ExitStatus, Gone> {
    let mut waiting = [0_u8; CHUNK];
    let every = Timespec::try_from(beat::EVERY).ok();
    loop {
        if heard.all() {
            send(port, &ToHost::Alive)?;
        }
        while let Some(message) = decoder.message::<ToGuest>().map_err(|_| Gone)? {
            job.take(message)?;
        }
        job.feed(port)?;
        let (mut over, mut from_port) = (false, false);
        {
            let mut fds = vec![
                PollFd::new(&port, PollFlags::IN),
                PollFd::new(&job.ended, PollFlags::IN),
            ];
            fds.extend(
                job.output
                    .iter()
                    .chain(&job.errors)
                    .map(|fd| PollFd::new(fd, PollFlags::IN)),
            );
            if !job.pending.is_empty() {
                fds.extend(job.input.iter().map(|fd| PollFd::new(fd, PollFlags::OUT)));
            }
            match poll(&mut fds, every.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return Err(Gone),
            }
            from_port |= !fds[0].revents().is_empty();
            over |= !fds[1].revents().is_empty();
        }
        if from_port {
            receive(port, decoder)?;
        }
        // A command that has ended has written all it ever will: one pass empties the pipes,
        // also when a process it left behind holds them open.
        loop {
            let mut more = false;
            for (stream, wrap) in [
                (&mut job.output, ToHost::Output as fn(Vec<u8>) -> ToHost),
                (&mut job.errors, ToHost::Errors),
            ] {
                let Some(fd) = stream else { continue };
                match rustix::io::read(&*fd, &mut waiting) {
                    Ok(0) => *stream = None,
                    Ok(count) => {
                        more = true;
                        send(port, &wrap(waiting[..count].to_vec()))?;
                    }
                    Err(Errno::AGAIN | Errno::INTR) => {}
                    // The last process on a terminal has closed it.
                    Err(_) => *stream = None,
                }
            }
            if !over || !more {
                break;
            }
        }
        if over {
            return job.child.wait().map_err(|_| Gone);
        }
    }
}

impl Job {
    fn take(&mut self, message: ToGuest) -> Result<(), Gone> {
        match message {
            ToGuest::Start(_) => return Err(Gone),
            ToGuest::Input(bytes) => self.pending.extend(bytes),
            ToGuest::InputEnd => self.input_ends = true,
            ToGuest::Resize(size) => {
                if let (true, Some(fd)) = (self.terminal, &self.output) {
                    // A terminal of the old size is still a terminal.
                    let _ = set_size(fd.as_fd(), size);
                }
            }
            ToGuest::Signal(number) => {
                if let Some(signal) = Signal::from_named_raw(i32::from(number)) {
                    self.signal(signal);
                }
            }
        }
        Ok(())
    }

    /// Gives the command what it takes of its input.
    fn feed(&mut self, port: BorrowedFd<'_>) -> Result<(), Gone> {
        if let (Some(fd), false) = (&self.input, self.pending.is_empty()) {
            match rustix::io::write(fd, &self.pending) {
                Ok(count) => drop(self.pending.drain(..count)),
                Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
                // It reads no more, as `head` does.
                Err(_) => self.input = None,
            }
            if self.input.is_none() {
                self.pending.clear();
            }
            if self.pending.is_empty() {
                send(port, &ToHost::Took)?;
            }
        } else if self.input.is_none() && !self.pending.is_empty() {
            self.pending.clear();
            send(port, &ToHost::Took)?;
        }
        if self.input_ends && self.pending.is_empty() && !self.terminal {
            self.input = None;
        }
        Ok(())
    }

    fn signal(&self, signal: Signal) {
        // The command leads a process group of its own. Fails only when that has ended.
        let _ = rustix::process::kill_process_group(Pid::from_child(&self.child), signal);
    }
}

/// Starts the command with everything nonblocking on our side.
fn launch(start: &Start) -> Result<Job, String> {
    let Some((program, arguments)) = start.words.split_first() else {
        return Err("no command is given".into());
    };
    let name = program.to_string_lossy();
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(start.environment.iter().map(|(key, value)| (key, value)));
    // Only here is the program's own directory in the search path, also for finding the command.
    let path = start
        .environment
        .iter()
        .find(|(key, _)| key == "PATH")
        .map(|(_, value)| value.clone());
    let mut search = std::ffi::OsString::from(BIN);
    search.push(":");
    search.push(
        path.unwrap_or_else(|| {
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into()
        }),
    );
    command.env("PATH", search);
    let directory = std::path::Path::new(&start.directory);
    if !directory.is_dir() {
        return Err(format!(
            "the directory {} cannot be entered in the lab",
            directory.display()
        ));
    }
    command.current_dir(directory);
    let failed = |e: io::Error| match e.kind() {
        io::ErrorKind::NotFound => format!("{name} is not found in the lab"),
        _ => format!("{name} cannot be started in the lab: {e}"),
    };
    let (child, input, output, errors) = match start.terminal {
        Some(size) => on_terminal(&mut command, size).map_err(failed)?,
        None => on_pipes(&mut command).map_err(failed)?,
    };
    let ended = rustix::process::pidfd_open(Pid::from_child(&child), PidfdFlags::empty())
        .map_err(|e| failed(e.into()))?;
    for fd in [&input, &output, &errors].into_iter().flatten() {
        rustix::io::ioctl_fionbio(fd, true).map_err(|e| failed(e.into()))?;
    }
    Ok(Job {
        child,
        ended,
        input,
        output,
        errors,
        pending: Vec::new(),
        input_ends: false,
        terminal: start.terminal.is_some(),
    })
}

type Streams = (Child, Option<OwnedFd>, Option<OwnedFd>, Option<OwnedFd>);

fn on_pipes(command: &mut Command) -> io::Result<Streams> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut child = command.spawn()?;
    let input = child.stdin.take().map(OwnedFd::from);
    let output = child.stdout.take().map(OwnedFd::from);
    let errors = child.stderr.take().map(OwnedFd::from);
    Ok((child, input, output, errors))
}

#[allow(unsafe_code)] // edge: the child's controlling terminal
fn on_terminal(command: &mut Command, size: Size) -> io::Result<Streams> {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    set_size(ours.as_fd(), size)?;
    let name = ptsname(&ours, Vec::new())?;
    let theirs = File::options()
        .read(true)
        .write(true)
        .open(std::path::Path::new(name.to_str().unwrap_or_default()))?;
    command
        .stdin(theirs.try_clone()?)
        .stdout(theirs.try_clone()?)
        .stderr(theirs);
    let prepare = || {
        rustix::process::setsid()?;
        rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
        Ok(())
    };
    // SAFETY: `prepare` makes two system calls and allocates nothing.
    unsafe { command.pre_exec(prepare) };
    let child = command.spawn()?;
    // The command must not hold our copies of its side, or its end would not be seen.
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Ok((child, Some(ours.try_clone()?), Some(ours), None))
}

fn set_size(terminal: BorrowedFd<'_>, size: Size) -> io::Result<()> {
    let size = rustix::termios::Winsize {
        ws_row: size.rows,
        ws_col: size.columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    Ok(rustix::termios::tcsetwinsize(terminal, size)?)
}

/// Reads what is there.
fn receive(port: BorrowedFd<'_>, decoder: &mut Decoder) -> Result<(), Gone> {
    let mut buffer = [0; CHUNK];
    match rustix::io::read(port, &mut buffer) {
        Ok(0) => Err(Gone),
        Ok(count) => {
            decoder.push(&buffer[..count]);
            Ok(())
        }
        Err(Errno::AGAIN | Errno::INTR) => Ok(()),
        Err(_) => Err(Gone),
    }
}

fn send(port: BorrowedFd<'_>, message: &ToHost) -> Result<(), Gone> {
    let bytes = message.encode();
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        match rustix::io::write(port, rest) {
            Ok(count) => rest = &rest[count..],
            Err(Errno::AGAIN) => wait(port, PollFlags::OUT)?,
            Err(Errno::INTR) => {}
            Err(_) => return Err(Gone),
        }
    }
    Ok(())
}

fn wait(port: BorrowedFd<'_>, what: PollFlags) -> Result<(), Gone> {
    let mut fds = [PollFd::new(&port, what)];
    match poll(&mut fds, None) {
        Ok(_)
            if fds[0].revents().contains(PollFlags::HUP)
                && !fds[0].revents().contains(PollFlags::IN) =>
        {
            Err(Gone)
        }
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(_) => Err(Gone),
    }
}
