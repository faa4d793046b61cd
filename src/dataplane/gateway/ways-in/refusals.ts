/** Every refusal of the gateway: HTTP status and text, SOCKS5 reply code (RFC 1928, 6). */
const refusals = {
  credentials_required: [407, 2, 'A user name and a password are required.'],
  bad_credentials: [407, 2, 'The user name or the password is wrong.'],
  wrong_protocol: [403, 2, 'This proxy is set to the other protocol. POST /api/v1/dedicated/protocol changes it.'],
  expired: [402, 2, 'This proxy has expired. POST /api/v1/dedicated/prolong renews it within 3 days of its end.'],
  vpn_ended: [402, 2, 'The VPN subscription has ended or its traffic is used up. POST /api/v1/vpn/renew renews it.'],
  vpn_devices: [
    403,
    2,
    'All device slots of the VPN subscription are in use. Disconnect a device, or POST /api/v1/vpn/devices/increase.',
  ],
  withdrawn: [403, 2, 'The address of this proxy is withdrawn for now. Its term is paused until the address is back.'],
  blocked: [403, 2, 'Access is blocked. Ask the seller.'],
  login_part: [
    403,
    2,
    'The login has a part without a name or value. Parts: pool, country, state, city, zip, asn, session, ttl.',
  ],
  login_pool: [403, 2, 'The part pool of the login is wrong. It is one pool, like pool-residential.'],
  login_country: [
    403,
    2,
    'The part country of the login is wrong. It is two-letter codes with dots between, like country-us.de.',
  ],
  login_state: [403, 2, 'The part state of the login is wrong. It is names of letters and digits, like state-newyork.'],
  login_city: [
    403,
    2,
    'The part city of the login is wrong. It is names of letters and digits, like city-newyork.london.',
  ],
  login_zip: [403, 2, 'The part zip of the login is wrong. It is codes of letters and digits, like zip-10001.sw1a1aa.'],
  login_asn: [403, 2, 'The part asn of the login is wrong. It is numbers with dots between, like asn-7018.3320.'],
  login_session: [
    403,
    2,
    'The part session of the login is wrong. It is up to 32 letters and digits, like session-a8f3.',
  ],
  login_ttl: [
    403,
    2,
    'The part ttl of the login is wrong. It is 1 to 120 minutes and needs a session, like session-a8f3-ttl-10.',
  ],
  unknown_pool: [403, 2, 'There is no pool of the name in the login. The order of the traffic names its pool.'],
  pool_required: [403, 2, 'The login must name a pool, like LOGIN-pool-residential.'],
  traffic_exhausted: [402, 2, 'There is no traffic left. POST /api/v1/premium/traffic/buy adds some.'],
  too_many_tunnels: [429, 1, 'Too many connections are open. Close some, then try again.'],
  too_many_new: [429, 1, 'Too many new connections per second. Try again in a moment.'],
  too_many_names: [429, 1, 'Too many DNS lookups per second. Try again in a moment.'],
  hop_refused: [403, 2, 'This gateway refuses the hop from the other gateway.'],
  hop_late: [403, 2, 'The clocks of the two gateways differ too much for a hop.'],
  no_exit: [502, 4, 'No exit matches the options in the login at the moment.'],
  session_lost: [502, 1, "This session's exit is gone. Connect again: the session continues from a new address."],
  exit_failed: [502, 1, 'The exit does not answer.'],
  udp_unsupported: [501, 7, 'UDP is not available with this login. Over TLS use connect-udp instead of SOCKS5.'],
  address_unavailable: [502, 1, "The proxy's address cannot be used at the moment."],
  no_such_family: [502, 4, 'The destination has no address of the family (IPv4 or IPv6) of this proxy.'],
  name_not_found: [502, 4, 'The host name of the destination does not exist.'],
  resolver_failed: [502, 4, 'The host name of the destination could not be resolved.'],
  connect_refused: [502, 5, 'The destination refused the connection.'],
  unreachable: [502, 4, 'The destination cannot be reached.'],
  connect_timeout: [504, 6, 'The destination did not answer in time.'],
  origin_failed: [502, 1, 'The destination did not send a valid HTTP response.'],
  port_denied: [403, 2, 'This destination port is not allowed.'],
  destination_not_public: [403, 2, 'Only public addresses can be reached.'],
  destination_is_ours: [403, 2, 'This address belongs to the service itself and is not allowed.'],
  destination_denied: [403, 2, 'This destination is not allowed.'],
  gateway_full: [503, 1, 'The gateway is full. Try again in a moment.'],
  gateway_stopping: [503, 1, 'The gateway is stopping. Try again in a moment.'],
  gateway_closed: [503, 1, 'This gateway is closed at the moment. Use another, or try again later.'],
  shop_unreachable: [503, 1, 'The gateway cannot reach the shop at the moment. Try again in a moment.'],
  handshake_timeout: [408, 1, 'The request did not arrive in time.'],
} as const satisfies Record<string, readonly [status: number, socks: SocksCode, message: string]>

export type RefusalCode = keyof typeof refusals
export const isRefusalCode = (text: string): text is RefusalCode => Object.hasOwn(refusals, text)

type SocksCode = 1 | 2 | 3 | 4 | 5 | 6 | 7

export function refusalOf(code: RefusalCode): { status: number; socks: SocksCode; message: string } {
  const [status, socks, message] = refusals[code]
  return { status, socks, message }
}
