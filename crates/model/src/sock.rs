//! Socket workloads: the request to two endpoints and what they measured.
//!
//! Names and definitions of the tests follow netperf's manual ("Care and Feeding of Netperf",
//! chapters on request/response and bulk data); see `docs/methodology/sockets.md`.

mod end;
mod result;
mod spec;

pub use end::{DatagramCounts, EndCpu, EndReport, RequestCounts, Second, TcpEnd, TcpSample};
pub use result::{
    Confidence, CurvePoint, Ending, Neighbours, ServiceDemand, SockReport, SockResult, SockSeries,
};
pub use spec::{
    Family, LARGEST_DATAGRAM, LONGEST_TEST, MAX_FLOWS, MAX_TCP_MESSAGE, SockSpec, SockSpecError,
    SockTest, UnknownTest,
};
