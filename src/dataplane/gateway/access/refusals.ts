/** Every refusal of the gateway: HTTP status and text, SOCKS5 reply code (RFC 1928, 6). */
const refusals = {
  credentials_required: [407, 2, 'A user name and password are needed.'],
  bad_credentials: [407, 2, 'The user name or the password is wrong.'],
  wrong_protocol: [403, 2, 'This proxy is set to the other protocol. POST /api/v1/dedicated/protocol changes it.'],
  expired: [402, 2, 'This proxy has expired. POST /api/v1/dedicated/prolong within its grace.'],
  blocked: [403, 2, 'Access is blocked. Ask the seller.'],
  pool_required: [403, 2, 'The login must name a pool: LOGIN-pool-residential, for one.'],
  traffic_exhausted: [402, 2, 'There is no traffic left. POST /api/v1/premium/traffic/buy adds some.'],
  too_many_tunnels: [429, 1, 'Too many connections are open. Close some, then try again.'],
  too_many_new: [429, 1, 'Too many new connections a second. Slow down a little.'],
  too_many_names: [429, 1, 'Too many names to resolve a second. Slow down a little.'],
  hop_refused: [403, 2, 'This gateway does not take this hop.'],
  hop_late: [403, 2, 'The clocks of the two gateways lie too far apart for a hop.'],
  no_exit: [502, 4, 'No exit fits what the login asks for at the moment.'],
  session_lost: [502, 1, "This session's exit is gone. Connect again: the session goes on from a new address."],
  exit_failed: [502, 1, 'The exit does not answer.'],
  address_unavailable: [502, 1, "The proxy's address cannot be used at the moment."],
  no_such_family: [502, 4, 'The destination has no address of the kind (IPv4 or IPv6) that this proxy leaves from.'],
  name_not_found: [502, 4, 'The name of the destination is not known.'],
  resolver_failed: [502, 4, 'The name of the destination could not be looked up.'],
  connect_refused: [502, 5, 'The destination refused the connection.'],
  unreachable: [502, 4, 'The destination cannot be reached.'],
  connect_timeout: [504, 6, 'The destination did not answer in time.'],
  origin_failed: [502, 1, 'The destination did not answer as HTTP asks.'],
  port_denied: [403, 2, 'That port is not open to customers.'],
  destination_not_public: [403, 2, 'Only public addresses can be reached.'],
  destination_is_ours: [403, 2, 'That address is one of our own machines.'],
  destination_denied: [403, 2, 'That destination is not open to customers.'],
  gateway_full: [503, 1, 'The gateway is full. Try again in a moment.'],
  gateway_stopping: [503, 1, 'The gateway is stopping. Try again in a moment.'],
  gateway_closed: [503, 1, 'This gateway is closed at the moment. Use another, or try again later.'],
  shop_unreachable: [503, 1, 'The shop cannot be asked at the moment. Try again in a moment.'],
  handshake_timeout: [408, 1, 'The request did not come in time.'],
} as const satisfies Record<string, readonly [status: number, socks: SocksCode, message: string]>

export type RefusalCode = keyof typeof refusals
export const isRefusalCode = (text: string): text is RefusalCode => Object.hasOwn(refusals, text)

type SocksCode = 1 | 2 | 3 | 4 | 5 | 6

export function refusalOf(code: RefusalCode): { status: number; socks: SocksCode; message: string } {
  const [status, socks, message] = refusals[code]
  return { status, socks, message }
}
