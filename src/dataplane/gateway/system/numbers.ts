import { constants } from 'node:os'

/** Constants of the Linux kernel interface, equal on x64 and arm64. */

export const AF_UNIX = 1
export const AF_INET = 2
export const AF_INET6 = 10
export const AF_NETLINK = 16
export const SOCK_STREAM = 1
export const SOCK_DGRAM = 2
export const SOCK_RAW = 3
export const SOCK_SEQPACKET = 5
/** SOCK_NONBLOCK and SOCK_CLOEXEC, also for accept4, pipe2 and eventfd. */
export const NONBLOCK_CLOEXEC = 0x80800
export const CLOEXEC = 0x80000

export const SOL_SOCKET = 1
export const SO_REUSEADDR = 2
export const SO_ERROR = 4
export const SO_SNDBUF = 7
export const SO_RCVBUF = 8
export const SO_LINGER = 13
export const SO_BUF_LOCK = 72
export const IPPROTO_IP = 0
export const IP_BIND_ADDRESS_NO_PORT = 24
export const IPPROTO_TCP = 6
export const TCP_NODELAY = 1
export const TCP_INFO = 11
export const TCP_QUICKACK = 12
export const TCP_NOTSENT_LOWAT = 25
export const IPPROTO_UDP = 17
export const IPPROTO_IPV6 = 41
export const IPV6_V6ONLY = 26

export const NETLINK_ROUTE = 0
export const NLMSG_ERROR = 2
export const NLM_F_REQUEST = 1
export const RTM_NEWROUTE = 24
export const RTM_GETROUTE = 26
export const RTA_DST = 1
export const RTA_SRC = 2
export const RTA_IP_PROTO = 27
export const RTA_DPORT = 29
export const RTN_LOCAL = 2
export const RTN_BROADCAST = 3
export const RTN_ANYCAST = 4

export const SHUT_WR = 1
export const SHUT_RDWR = 2
export const MSG_PEEK = 0x2
export const MSG_DONTWAIT = 0x40
export const MSG_NOSIGNAL = 0x4000
export const MSG_MORE = 0x8000
export const MSG_CMSG_CLOEXEC = 0x40000000

export const EPOLL_CTL_ADD = 1
export const EPOLL_CTL_DEL = 2
export const EPOLL_CTL_MOD = 3
export const EPOLLIN = 0x1
export const EPOLLPRI = 0x2
export const EPOLLOUT = 0x4
export const EPOLLERR = 0x8
export const EPOLLHUP = 0x10
export const EPOLLRDHUP = 0x2000
export const EPOLLET = 0x80000000 | 0

export const SPLICE_F_MOVE = 1
export const SPLICE_F_NONBLOCK = 2
export const F_SETPIPE_SZ = 1031
export const F_DUPFD_CLOEXEC = 1030

export const { EINTR, EAGAIN, EINVAL, ENOMEM, EACCES, ENODEV, ENFILE, EMFILE, ENOBUFS } = constants.errno
export const { EAFNOSUPPORT, EADDRINUSE, EADDRNOTAVAIL, ENETUNREACH, EHOSTUNREACH } = constants.errno
export const { ETIMEDOUT, ECONNREFUSED, ECONNRESET, EINPROGRESS, EMSGSIZE } = constants.errno
