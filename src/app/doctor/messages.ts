type Pair = { readonly says: string; readonly todo: string }

const pair = (says: string, todo: string): Pair => ({ says, todo })

const spaceText = (of: { readonly free_bytes: number; readonly size_bytes: number }): string =>
  `${(of.free_bytes / 1e9).toFixed(1)} GB of ${(of.size_bytes / 1e9).toFixed(1)} GB are free`

const nameProxy = 'name the address of your reverse proxy in TURNPIKE_TRUSTED_PROXIES'
const readLog = 'look for "certificate not renewed" in the log: it has the reason that the authority gave'

/** The English sentences of the doctor by reason: what it found, and what to do; nothing to do is an empty text. */
const sentences = {
  disk_unknown: pair('the system does not report the free space', 'check it with df'),
  disk_free: (of: { free_bytes: number; size_bytes: number }) => pair(spaceText(of), ''),
  disk_low: (of: { free_bytes: number; size_bytes: number }) =>
    pair(spaceText(of), 'free some space, or move the folder to a larger disk: with a full disk every sale fails'),
  files_unknown: pair('the system does not report the limit', 'check it with ulimit -n'),
  files_enough: (of: { limit: number; connections: number }) =>
    pair(`${of.limit} at most, enough for ${of.connections} connections`, ''),
  files_few: (of: { limit: number; fitting: number; connections: number; needed: number }) =>
    pair(
      `${of.limit} at most, enough for ${of.fitting} connections of the ${of.connections} configured ones`,
      `raise it: LimitNOFILE=${of.needed} in the unit, or ulimit -n; or lower TURNPIKE_GATEWAY_CONNECTIONS`,
    ),
  clock_differs: (of: { skew_ms: number }) =>
    pair(`it differs by ${of.skew_ms} ms from the clock of the database server`, 'run an NTP client on both machines'),
  clock_unsynchronised: pair(
    'the kernel reports that no program synchronises it',
    'run an NTP client (chrony, systemd-timesyncd)',
  ),
  clock_unknown: pair('no problem is known', ''),
  clock_agrees: pair('it agrees with the clock of the database server', ''),
  path_missing: pair('it does not exist', 'the shop creates it at its first start'),
  path_owner: pair('it belongs to another user', 'chown it to the user that runs Turnpike'),
  path_private: (of: { mode: string }) => pair(`only its owner has access (${of.mode})`, ''),
  path_open: (of: { mode: string; path: string }) =>
    pair(`other users have access (${of.mode})`, `chmod go= ${of.path}`),
  setting_unknown: (of: { name: string }) =>
    pair(`${of.name} is not known and was ignored`, 'see "turnpike up --help" for the settings'),
  setting_misspelt: (of: { name: string; meant: string }) =>
    pair(`${of.name} is not known and was ignored`, `set ${of.meant} instead, if that was meant`),
  import_unfinished: (of: { begun: string; prefix: string; slots: number }) =>
    pair(
      `the import of ${of.prefix} that began at ${of.begun} is not finished: ${of.slots} slots exist, none is sold`,
      'unless a "turnpike stock add" still runs, repeat that command to finish it; ' +
        'a running shop sells the existing slots after two minutes',
    ),
  ranges_unproven: (of: { name: string; ranges: number }) =>
    pair(
      `${of.name} claims ${of.ranges} ranges that it has not proven: they are not sold on it`,
      `"turnpike node show ${of.name}" lists them; if the shop cannot see its calls (NAT), ` +
        `"turnpike stock assign PREFIX --node ${of.name}" needs no proof`,
    ),
  postgres_wrong: (of: { problems: readonly string[] }) =>
    pair('PostgreSQL is not configured for a shop', of.problems.join('; ')),
  postgres_right: (of: { version: number }) => pair(`PostgreSQL ${of.version} with synchronous commits`, ''),
  sqlite: (of: { megabytes: number }) => pair(`${of.megabytes} MB of SQLite`, ''),
  sqlite_journal: (of: { megabytes: number; journal: string }) =>
    pair(`${of.megabytes} MB of SQLite, journal ${of.journal}`, 'the next start of the shop sets the journal'),
  proxy_untrusted: pair(
    'requests come through a proxy that is not trusted: all customers count as one source',
    nameProxy,
  ),
  proxy_trusted: pair('the proxy before the shop reports the addresses of customers', ''),
  proxy_likely: pair(
    'another program ends TLS before the shop, and no proxy is trusted to report the addresses of customers',
    nameProxy,
  ),
  node_closed: pair('it is closed', 'open it with "turnpike node open", or leave it closed'),
  node_not_joined: pair('it has not joined yet', 'start it with the key of "turnpike node key"'),
  node_silent: (of: { seconds: number }) =>
    pair(
      `it has not reported for ${of.seconds} s`,
      'start it, or close it with "turnpike node close" and move its proxies and subscriptions to another node',
    ),
  node_behind: (of: { seconds: number }) =>
    pair(`it is ${of.seconds} s behind the state of the shop`, 'look at its log for "state not read"'),
  node_version: (of: { version: string | null; shop: string }) =>
    pair(`it is version ${of.version ?? 'unknown'}, the shop is ${of.shop}`, 'upgrade it to the version of the shop'),
  node_present: (of: { version: string }) => pair(`it reports, version ${of.version}`, ''),
  nodes_none: pair('there is none, so nothing is sold', '"turnpike node add" adds one'),
  backups_off: pair('the shop makes none', 'set TURNPIKE_BACKUP_FOLDER, or run "turnpike backup" every night'),
  backups_none: (of: { folder: string }) =>
    pair(
      `there is none in ${of.folder}`,
      'the shop makes the first one a minute after its start; if none appears, look for "back up" in its log',
    ),
  backups_denied: (of: { path: string; user: string }) =>
    pair(`permission denied reading ${of.path}`, `let the user ${of.user} read it, or run the command as root`),
  backups_old: (of: { hours: number }) =>
    pair(`the newest is ${of.hours} hours old`, 'look for "job failed" with "back up" in the shop’s log'),
  backups_fresh: (of: { hours: number }) => pair(`the newest is ${of.hours} hours old`, ''),
  certificate_unseen: (of: { error: string }) =>
    pair(`it could not be read: ${of.error}`, 'connect to it from another machine'),
  certificate_untrusted: (of: { error: string }) =>
    pair(`it is not trusted: ${of.error}`, 'get a certificate for this name from a known authority'),
  certificate_ends: (of: { days: number }) =>
    pair(`it ends in ${of.days} days`, 'renew it, and find out why it was not renewed automatically'),
  certificate_good: (of: { days: number }) => pair(`it is valid for ${of.days} days`, ''),
  file_wrong: (of: { error: string; failures: number }) =>
    pair(of.error, of.failures > 0 ? readLog : 'put one there, with its key'),
  file_ended: (of: { names: readonly string[]; failures: number }) =>
    pair(`it is for ${of.names.join(', ')} and has ended`, of.failures > 0 ? readLog : 'replace it and its key'),
  file_ends: (of: { names: readonly string[]; days: number; failures: number }) =>
    pair(
      `it is for ${of.names.join(', ')} and ends in ${of.days} days`,
      of.failures > 0 ? readLog : 'replace it and its key',
    ),
  file_not_renewed: (of: { names: readonly string[]; days: number; failures: number }) =>
    pair(
      `it is for ${of.names.join(', ')} and valid for ${of.days} days, but was not renewed ${of.failures} times`,
      readLog,
    ),
  file_good: (of: { names: readonly string[]; days: number }) =>
    pair(`it is for ${of.names.join(', ')} and valid for ${of.days} days`, ''),
  port_ours: pair('Turnpike answers there', ''),
  port_taken: pair('another program has it', 'end that program, or choose another port'),
  port_free: pair('no program listens there', 'start Turnpike, if it should run here'),
  port_strange: pair('the program that has it does not answer as Turnpike does', 'find the program with ss -ltnp'),
  name_found: (of: { addresses: readonly string[] }) => pair(`its addresses are ${of.addresses.join(', ')}`, ''),
  name_missing: pair('DNS does not know it', 'enter it into your DNS, or check /etc/resolv.conf of this machine'),
  wireguard_ready: pair('this machine can be a VPN node', ''),
  wireguard_missing: (of: { missing: readonly string[]; how: readonly string[]; needed: boolean }) =>
    pair(`missing: ${of.missing.join('; ')}`, `${of.how.join(' ')}${of.needed ? '' : ' Only a VPN node needs it.'}`),
  shop_none: (of: { folder: string }) =>
    pair(`there is none in ${of.folder}`, 'a node needs none; else "turnpike up" opens one'),
  shop_closed: (of: { because: string; way_out: string }) => pair(`it is closed. ${of.because}`, of.way_out),
  shop_empty: pair('it is empty', 'start it'),
  database_unopened: (of: { address: string; error: string }) => pair(`${of.address} cannot be opened`, of.error),
  database_silent: pair(
    'it does not answer',
    'check that it runs, that its address is right, and that it has a free connection',
  ),
  migrations_pending: (of: { count: number }) =>
    pair(`${of.count} migrations are not applied`, 'start the shop, or run "turnpike migrate"'),
  schema_wrong: (of: { error: string }) =>
    pair(of.error, 'run the version that the database was migrated with, or a later one'),
  schema_right: pair('it is the schema of this version', ''),
  key_wrong: (of: { error: string }) => pair(of.error, 'without the key no password of a customer can be shown again'),
  key_right: pair('it is the key of this shop', ''),
  reach: (of: { setting: string; host: string }) =>
    pair(`${of.setting} is ${of.host}, which no customer can reach`, `set ${of.setting} to an address for customers`),
  registration_unconfirmed: pair(
    'the shop sends no e-mail: visitors can register with any address and find out which addresses are taken',
    'set TURNPIKE_SMTP_URL, or register customers yourself (TURNPIKE_REGISTRATION=off)',
  ),
  checkpoints_inside: pair(
    'they are kept in the database alone',
    'set TURNPIKE_CHECKPOINT_FILE or _URL: see verify.md',
  ),
}

type Sentences = typeof sentences

/** The arguments that make an advice; a reason without parameters is the only argument. */
export type DoctorArguments = {
  readonly [Key in keyof Sentences]: Sentences[Key] extends (of: infer Params) => Pair
    ? readonly [reason: Key, params: Params]
    : readonly [reason: Key]
}[keyof Sentences]

export function toSentences(...[reason, params]: DoctorArguments): Pair {
  const sentence = sentences[reason] as Pair | ((of: unknown) => Pair)
  return typeof sentence === 'function' ? sentence(params) : sentence
}
