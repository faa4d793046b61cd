import type { settings } from './config.ts'

/** The purpose of each setting, as help shows it. */
export const settingMeanings: Readonly<Record<string, string>> = {
  host: 'address that the shop listens on',
  port: 'TCP port that the shop listens on; 0 picks a free one',
  folder: 'data folder; except with up and shop, --data without --database-url means the SQLite shop in it',
  databaseUrl: 'postgres://… for PostgreSQL; without it SQLite in the data folder',
  databaseReadUrl: 'address of a standby that answers lists, reports, search and verify; empty: the primary does',
  databaseConnections: 'size of the PostgreSQL connection pool; more than the cores of the server gains nothing',
  sandbox: 'open an empty database as a sandbox',
  sandboxToken: 'fixed token of the sandbox customer, for scripts (8 to 200 visible characters)',
  secretKey: 'encryption key for stored passwords, 64 hexadecimal digits; without it secret.key in the data folder',
  checkpointFile: 'file that every checkpoint is appended to; best on storage that only allows appending',
  checkpointUrl: 'http(s) URL that every checkpoint is sent to',
  backupFolder: 'folder for automatic backups, one subfolder each; best a mount of another machine',
  backupHours: 'hours between two automatic backups',
  backupKeep: 'number of automatic backups that are kept; older ones are deleted',
  backupKey: 'include the encryption key in each backup, as a separate file',
  tlsCert: 'certificate chain (PEM); the shop then serves only https and reloads the file when it changes',
  tlsKey: 'private key of the certificate (PEM)',
  acmeNames: 'instead of files: host names to get and renew an ACME certificate for, separated by commas',
  acmeTerms: '"agreed": you accept the terms of service of the ACME authority',
  acmeContact: 'contact e-mail address for the ACME authority',
  acmeDirectory: 'directory URL of the ACME authority',
  acmeCa: 'CA certificates (PEM) to trust for a private ACME authority',
  acmeListen:
    'address and port for ACME http-01 challenges; other requests are redirected to the https address of the shop',
  gatewayTlsPort: 'gateway port for proxies over TLS (https://), with the same certificate; 0 disables it',
  gatewayTicketSecret:
    'secret of at least 32 characters, the same on gateways of one name: clients resume TLS sessions at each of them',
  keepSessionDays: 'days that an ended browser session, with its IP address, or sign-in link is kept',
  keepSourceDays:
    'days that the last source of a token and the last use of a whitelisted address or VPN device are kept',
  keepHourDays: 'days that premium traffic is kept by the hour; older traffic is kept by the month',
  gatewayHost: 'public host name or address of the gateway',
  gatewayPort: 'gateway port, for both HTTP and SOCKS5',
  gatewayAddress: 'IP address of the gateway if its host is a name; for proxy lists with addresses',
  premiumPorts: 'gateway ports for premium access by whitelisted address',
  premiumLeaseBytes: 'bytes that a node may relay for a sub-user per lease, before it requests the next one',
  premiumWhitelist: 'maximum of whitelisted addresses per sub-user',
  premiumHostDays: 'days that traffic by destination host is kept',
  readsPerMinute: 'requests per minute and token that charge nothing; five times as many per customer; 0 is no limit',
  chargesPerMinute: 'requests per minute and token that charge; five times as many per customer; 0 is no limit',
  changesPerHour:
    'rows of 1 KiB, such as proxies, that a customer may change per hour without a charge; three hours are saved up; ' +
    'a customer who never had money gets a twentieth; 0 is no limit',
  customerTokens: 'maximum of open tokens per customer',
  trustedProxies: 'addresses of reverse proxies whose X-Forwarded-For is trusted, separated by commas',
  corsOrigins:
    'CORS origins whose pages may call the customer API with a token, like https://app.example, separated by commas',
  drainSeconds:
    'seconds that a stopping shop serves requests while /readyz fails, so that a load balancer can drain it',
  shopUrl:
    'URL of the shop for a node: https:// (http:// only on this machine), or unix:/path/of/its/data/join/shop.sock; ' +
    'default: the shop of this data folder, or the listening address in these settings',
  nodeKey: 'one-time join key from "turnpike node add", for the first start of a node',
  gatewayListen: 'address that the gateway listens on; :: is every address of this machine, including IPv4',
  gatewayEngine: 'relay engine: linux (epoll and splice), portable, or auto (linux if this machine supports it)',
  gatewayReactors: 'threads that relay on the linux engine, 1 to 16, or "auto": as many as cores, at most 16',
  gatewayPorts:
    'destination ports that customers may reach; mail, file sharing and amplification ports are always denied, ' +
    'and 53 is reached over UDP only',
  gatewayDenyNames: 'denied destination host names, including subdomains, separated by commas',
  gatewayDenyPrefixes: 'denied destination addresses and prefixes, separated by commas',
  gatewayConnections: 'maximum of concurrent connections per gateway',
  gatewayTunnels: 'maximum of concurrent tunnels per customer, at most a quarter of the connections',
  gatewayNewPerSecond: 'new connections per second and customer',
  gatewayNamesPerSecond: 'DNS lookups per second and customer',
  gatewayIdleSeconds: 'seconds without traffic before a connection is closed',
  gatewayConnectSeconds: 'seconds to connect to a destination',
  gatewayUdp: 'UDP through SOCKS5 (UDP ASSOCIATE) and connect-udp',
  gatewayUdpPorts: 'UDP ports that clients of SOCKS5 send to; empty: any free port',
  gatewayPackets: 'UDP datagrams per second and customer, both directions together',
  gatewaySite:
    'what clients without a login get on the TLS port: shop (the shop of this machine, builtin without one), ' +
    'builtin (404), files:/FOLDER, or off (407, as on the ordinary port)',
  gatewayChallengeHost:
    'server name for which the TLS port asks for a login with 407, for browsers; the certificate must cover it',
  gatewayVpn:
    'serves VPN devices of the shop on the TLS port, by VLESS, Trojan and HTTP proxies; needs a site on that port',
  gatewayDrainSeconds: 'seconds that a replaced gateway process keeps serving its open connections',
  localNodes:
    'local nodes that join the shop automatically: gateway, vpn, or gateway,vpn; ' +
    'sandbox-vpn is vpn only in a sandbox; "up" adds it if this setting is empty and the machine supports it',
  publicUrl: 'public URL of the shop, for links in answers; default: its listening address',
  vpnHost: 'public host of a VPN node without its own endpoint',
  vpnPort: 'UDP port of WireGuard',
  vpnDns: 'name servers in VPN configurations, separated by commas; empty for none',
  vpnMtu: 'MTU inside the tunnel, 1280 to 1500 bytes',
  vpnAllowed: 'AllowedIPs in VPN configurations: prefixes that devices route through the tunnel, separated by commas',
  vpnKeepalive: 'PersistentKeepalive in VPN configurations, in seconds, against NAT timeouts; 0 disables it',
  vpnPool: 'IPv4 addresses of devices inside the tunnel, /8 to /29',
  vpnUla: 'IPv6 addresses of devices inside the tunnel, of at most 96 bits',
  vpnGraceDays:
    'days after the end in which a VPN device still reaches the shop and TURNPIKE_VPN_PAY_HOSTS, ' +
    'at gateways over TLS; 0 is none',
  vpnPayHosts: 'host names of payment pages that such a device reaches too, separated by commas',
  linksPerMinute: 'requests for each secret VPN link per minute; 0 is no limit',
  vpnDevice: 'name of the network device of a VPN node on this machine, up to 14 characters',
  vpnConnections: 'connections that a VPN node tracks for one device, for IPv4 and IPv6 each',
  vpnConnectionsPerDestination: 'the same to one destination address, at most 4032',
  vpnNewConnections: 'new connections of a VPN device per second, with a burst of four seconds',
  front: 'public page with prices and stock at / for visitors; on in a sandbox, otherwise off',
  contact: 'contact of the seller on the sign-in page and payment pages: an e-mail address or an https:// URL',
  registration: 'self-registration of customers; unconfirmed: without a confirmation e-mail',
  smtpUrl: 'smtp://user:password@host:port or smtps://…: mail server for e-mail to customers; without it none is sent',
  noticesPerDay: 'letters with notices that a customer gets in a day (UTC), at most',
  mailFrom: 'sender address of e-mail to customers',
  metricsListen:
    'address of /metrics of the shop; a gateway uses the next port, a VPN node the port after it; ' +
    'empty disables metrics',
  log: 'log level: silent, error, warn, info or debug',
} satisfies Record<keyof typeof settings, string>
