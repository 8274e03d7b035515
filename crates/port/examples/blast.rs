#![allow(clippy::all, clippy::unwrap_used, clippy::print_stdout, missing_docs)]
use nicety_port::af_packet::*;use nicety_port::*;use nicety_model::*;use std::time::Duration;
fn main(){let a:Vec<String>=std::env::args().collect();let size=FrameSize::new(a[1].parse().unwrap()).unwrap();let bi=a[2]=="bi";
let cpus:Vec<Option<u32>>=a[3].split(',').map(|c|Some(c.parse().unwrap())).collect();let dur:f64=a[4].parse().unwrap();
let spec=|i:&str,n|PortSpec{interface:i.into(),mac:nicety_packet::MacAddr::local(n),mtu:1500,refusal:Refusal::LostInPath,promiscuous:false};
let mut e=AfPacket::new(Port::open(&spec("ta",1),size).unwrap(),Port::open(&spec("tb",2),size).unwrap(),TrafficSpec{frame_size:size,direction:if bi{Direction::Bi}else{Direction::Uni},flows:1},cpus).unwrap();
e.learn().unwrap();
for l in &a[5..]{let load:f64=l.parse().unwrap();let r=e.trial(&TrialOrder{load:Fps(load),duration:Duration::from_secs_f64(dur),drain_max:Duration::from_secs(2),drain_quiet:Duration::from_millis(30),trial:1},&Stop::default()).unwrap();
for (s,c) in r.senders.iter().zip(&r.streams){let p=s.pacing;println!("load {load:.0} offered {:.0} sent {} of {} refused {} recv {} lost {} ({:.4}%) fwd {:.0} slips {} {:.1}ms late99 {:.1}us max {:.0} tdrops {} corrupt {} foreign {}",p.offered_fps,s.sent,s.intended,s.refused_by_path,c.frames.received,c.frames.lost,c.frames.lost as f64*100./s.sent as f64,c.frames.received as f64/p.sending_s,p.slips,p.slipped_s*1e3,p.late_p99_us,p.late_max_us,r.tester_drops,c.frames.corrupt,c.frames.foreign);}
if let Some(l)=r.latency{println!("    lat min {:.1} p50 {:.1} p99 {:.1} max {:.0}  workers {:?}",l.min,l.p50,l.p99,l.max,r.workers)}}}
