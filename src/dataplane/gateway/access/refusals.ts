/** Every refusal of the gateway: HTTP status and text, SOCKS5 reply code (RFC 1928, 6). */
const refusals = {
  credentials_required: { status: 407, socks: 2, message: 'A user name and password are needed.' },
  bad_credentials: { status: 407, socks: 2, message: 'The user name or the password is wrong.' },
  wrong_protocol: {
    status: 403,
    socks: 2,
    message: 'This proxy is set to the other protocol. POST /api/v1/dedicated/protocol changes it.',
  },
  expired: {
    status: 402,
    socks: 2,
    message: 'This proxy has expired. POST /api/v1/dedicated/prolong within its grace.',
  },
  blocked: { status: 403, socks: 2, message: 'Access is blocked. Ask the seller.' },
  pool_required: { status: 403, socks: 2, message: 'The login must name a pool: LOGIN-pool-residential, for one.' },
  traffic_exhausted: {
    status: 402,
    socks: 2,
    message: 'There is no traffic left. POST /api/v1/premium/traffic/buy adds some.',
  },
  too_many_tunnels: { status: 429, socks: 1, message: 'Too many connections are open. Close some, then try again.' },
  too_many_new: { status: 429, socks: 1, message: 'Too many new connections a second. Slow down a little.' },
  too_many_names: { status: 429, socks: 1, message: 'Too many names to resolve a second. Slow down a little.' },
  hop_refused: { status: 403, socks: 2, message: 'This gateway does not take this hop.' },
  hop_late: { status: 403, socks: 2, message: 'The clocks of the two gateways lie too far apart for a hop.' },
  no_exit: { status: 502, socks: 4, message: 'No exit fits what the login asks for at the moment.' },
  session_lost: {
    status: 502,
    socks: 1,
    message: "This session's exit is gone. Connect again: the session goes on from a new address.",
  },
  exit_failed: { status: 502, socks: 1, message: 'The exit does not answer.' },
  address_unavailable: { status: 502, socks: 1, message: "The proxy's address cannot be used at the moment." },
  no_such_family: {
    status: 502,
    socks: 4,
    message: 'The destination has no address of the kind (IPv4 or IPv6) that this proxy leaves from.',
  },
  name_not_found: { status: 502, socks: 4, message: 'The name of the destination is not known.' },
  resolver_failed: { status: 502, socks: 4, message: 'The name of the destination could not be looked up.' },
  connect_refused: { status: 502, socks: 5, message: 'The destination refused the connection.' },
  unreachable: { status: 502, socks: 4, message: 'The destination cannot be reached.' },
  connect_timeout: { status: 504, socks: 6, message: 'The destination did not answer in time.' },
  origin_failed: { status: 502, socks: 1, message: 'The destination did not answer as HTTP asks.' },
  port_denied: { status: 403, socks: 2, message: 'That port is not open to customers.' },
  destination_not_public: { status: 403, socks: 2, message: 'Only public addresses can be reached.' },
  destination_is_ours: { status: 403, socks: 2, message: 'That address is one of our own machines.' },
  destination_denied: { status: 403, socks: 2, message: 'That destination is not open to customers.' },
  gateway_full: { status: 503, socks: 1, message: 'The gateway is full. Try again in a moment.' },
  gateway_stopping: { status: 503, socks: 1, message: 'The gateway is stopping. Try again in a moment.' },
  gateway_closed: {
    status: 503,
    socks: 1,
    message: 'This gateway serves nobody at the moment. Use another, or try again later.',
  },
  shop_unreachable: {
    status: 503,
    socks: 1,
    message: 'The shop cannot be asked at the moment. Try again in a moment.',
  },
  handshake_timeout: { status: 408, socks: 1, message: 'The request did not come in time.' },
} as const satisfies Record<string, { status: number; socks: 1 | 2 | 3 | 4 | 5 | 6; message: string }>

export type RefusalCode = keyof typeof refusals
export const isRefusalCode = (text: string): text is RefusalCode => Object.hasOwn(refusals, text)
type GatewayRefusal = {
  readonly status: number
  readonly socks: 1 | 2 | 3 | 4 | 5 | 6
  readonly message: string
}

export const refusalOf = (code: RefusalCode): GatewayRefusal => refusals[code]
