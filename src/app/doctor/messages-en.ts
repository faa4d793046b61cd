import { docsPage } from '../program.ts'

/** What the doctor found, and what to do; nothing to do is an empty text. */
export type Pair = { readonly says: string; readonly todo: string }

const pair = (says: string, todo: string): Pair => ({ says, todo })

const spaceText = (of: { readonly free_bytes: number; readonly size_bytes: number }): string =>
  `${(of.free_bytes / 1e9).toFixed(1)} GB of ${(of.size_bytes / 1e9).toFixed(1)} GB are free`

const nameProxy = 'name the address of your reverse proxy in TURNPIKE_TRUSTED_PROXIES'
const readLog = 'look for "certificate not renewed" in the log: it has the reason that the authority gave'

/** Where a way in stopped working. */
export type WayInStage = 'dns' | 'tcp' | 'certificate' | 'protocol'

const stageNames: Readonly<Record<WayInStage, string>> = {
  dns: 'DNS',
  tcp: 'TCP',
  certificate: 'TLS certificate',
  protocol: 'protocol',
}
const stageAdvice: Readonly<Record<WayInStage, string>> = {
  dns: 'enter the name into your DNS, or name another host with "turnpike node endpoint"',
  tcp: 'check that the gateway runs, and that its firewall and provider let customers reach the port',
  certificate: 'check that no other program has the port, and renew the certificate of the gateway',
  protocol: 'run "turnpike doctor" on the machine of the gateway; VPN also needs TURNPIKE_PUBLIC_URL reachable from it',
}

/** The English sentences of the doctor by reason. */
export const sentences = {
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
  clock_differs_from_shop: (of: { seconds: number }) =>
    pair(
      `it is ${Math.abs(of.seconds)} s ${of.seconds > 0 ? 'ahead of' : 'behind'} the clock of the shop`,
      'run an NTP client on both machines ("apt install chrony")',
    ),
  clock_behind_marks: (of: { seconds: number }) =>
    pair(
      `a mark of the last hour in the database is ${of.seconds} s ahead: this clock or that of another shop ` +
        'is or was wrong',
      'run an NTP client on the machines of all shops, and set hardware clocks to UTC ("timedatectl set-local-rtc 0")',
    ),
  path_missing: pair('it does not exist', 'the shop creates it at its first start'),
  path_owner: pair('it belongs to another user', 'chown it to the user that runs Turnpike'),
  path_private: (of: { mode: string }) => pair(`only its owner has access (${of.mode})`, ''),
  path_open: (of: { mode: string; path: string }) =>
    pair(`other users have access (${of.mode})`, `chmod go= ${of.path}`),
  setting_unknown: (of: { name: string }) =>
    pair(`${of.name} is not known and was ignored`, 'see "turnpike up --help" for the settings'),
  setting_removed: (of: { name: string }) =>
    pair(`${of.name} is not a setting of this version any more and was ignored`, 'remove it'),
  openssl_found: pair('OpenSSL 3 was found', ''),
  openssl_lacks: (of: { lack: string }) =>
    pair(
      `${of.lack}; the portable engine serves TLS, which relays more slowly`,
      'install OpenSSL 3: "apt-get install libssl3" (Debian 13: libssl3t64)',
    ),
  setting_misspelt: (of: { name: string; meant: string }) =>
    pair(`${of.name} is not known and was ignored`, `set ${of.meant} instead, if that was meant`),
  import_unfinished: (of: { begun: string; prefix: string; slots: number }) =>
    pair(
      `the import of ${of.prefix} that began at ${of.begun} is not finished: ${of.slots} slots exist, none is sold`,
      'unless a "turnpike stock add" still runs, repeat that command to finish it; ' +
        'a running shop sells the existing slots after two minutes',
    ),
  database_went_back: (of: { noted: string; back_to: string; lost_until: string }) =>
    pair(
      `at ${of.noted} the shop found that it went back in time: ` +
        `changes between ${of.back_to} and ${of.lost_until} are lost`,
      'compare payments of that time with the providers ("turnpike payments reconcile"), and look for lost goods below',
    ),
  goods_lost: (of: { kind: string; login: string; address: string; node: string; customer: string }) =>
    pair(
      `${of.node} served the ${of.kind} ${of.login}${of.address && ` at ${of.address}`} of ${of.customer}, ` +
        'which the database has lost; it does not work any more',
      'give the customer another one: "turnpike credit" and a purchase; the money of the lost one was not charged. ' +
        '"turnpike node seen-lost" ends this list',
    ),
  goods_lost_more: (of: { count: number }) =>
    pair(
      `nodes listed ${of.count} more lost goods: the table lost_goods has them`,
      'if the database did not go back that far, a node lies: look at "lost" in the log, and revoke the node',
    ),
  node_awaits_state: (of: { name: string }) =>
    pair(
      `${of.name} has not taken the whole state since the database went back or was restored: nothing of it is sold`,
      'start the node, and look for "state not read" in its log',
    ),
  ranges_unproven: (of: { name: string; ranges: number }) =>
    pair(
      `${of.name} claims ${of.ranges} ranges that it has not proven: they are not sold on it`,
      `"turnpike node show ${of.name}" lists them; name the gateway to which your provider routes each, which needs ` +
        'no proof: "turnpike stock assign PREFIX --node GATEWAY"',
    ),
  postgres_wrong: (of: { problems: readonly string[] }) =>
    pair('PostgreSQL is not configured for a shop', of.problems.join('; ')),
  postgres_readable: pair(
    'the connection to PostgreSQL crosses a network without TLS: passwords and personal data can be read there',
    'turn ssl on in postgresql.conf, and set sslmode=verify-full or sslmode=require in TURNPIKE_DATABASE_URL',
  ),
  postgres_right: (of: { version: number }) => pair(`PostgreSQL ${of.version} with synchronous commits`, ''),
  replication_synchronous: (of: { standbys: number; confirming: number; lag_megabytes: number }) =>
    pair(
      `${of.confirming} of ${of.standbys} standbys confirm each commit; the largest lag is ${of.lag_megabytes} MB`,
      '',
    ),
  replication_asynchronous: (of: { standbys: number; lag_megabytes: number }) =>
    pair(
      `commits wait for no standby (${of.standbys} connected, lag up to ${of.lag_megabytes} MB): a failover can ` +
        'lose answered purchases',
      'set synchronous_standby_names, or synchronous_mode and synchronous_mode_strict of Patroni',
    ),
  replication_blocked: pair(
    'commits wait for a standby and none is connected: every purchase is refused with 503',
    'start a standby, and look at its log; synchronous_standby_names says which ones count',
  ),
  replication_hidden: (of: { standbys: number }) =>
    pair(
      `${of.standbys} standbys are connected, and the role of the shop may not see their state`,
      'GRANT pg_monitor TO the role of the shop, as a superuser',
    ),
  commits_waiting: (of: { count: number }) =>
    pair(
      `${of.count} commits wait for a standby at this moment`,
      'if that lasts, look at the standbys; do not cancel the commits: the purchases in them may be lost later',
    ),
  slot_unread: (of: { name: string; megabytes: number }) =>
    pair(
      `no client reads the replication slot ${of.name}, which keeps ${of.megabytes} MB of log on the disk`,
      'start the standby of the slot, or drop the slot with pg_drop_replication_slot before the disk is full',
    ),
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
  node_not_joined: pair(
    'it has not joined yet',
    'run "turnpike node key" with its name here, and on its machine the command that it prints',
  ),
  node_silent: (of: { seconds: number }) =>
    pair(
      `it has not reported for ${of.seconds} s`,
      'start it, or close it with "turnpike node close" and move its proxies and subscriptions to another node',
    ),
  node_stopping: pair('it was stopped, and nothing is sold on it', 'start it, or close it with "turnpike node close"'),
  node_behind: (of: { seconds: number }) =>
    pair(`it is ${of.seconds} s behind the state of the shop`, 'look for "state not read" in its log'),
  node_version: (of: { version: string | null; shop: string }) =>
    pair(`it is version ${of.version ?? 'unknown'}, the shop is ${of.shop}`, 'upgrade it to the version of the shop'),
  node_present: (of: { version: string }) => pair(`it reports, version ${of.version}`, ''),
  node_unbilled: (of: { name: string; megabits: number; gigabytes: number }) =>
    pair(
      `${of.gigabytes} GB beyond its bandwidth were not billed, the last of them within a day; ` +
        `the bandwidth is ${of.megabits} Mbit/s now`,
      `if its network is faster, run "turnpike node link ${of.name} MBIT"; if not, the node lies: whose machine is it?`,
    ),
  node_link_full: (of: { name: string; megabits: number; used: number }) =>
    pair(
      `it relays ${of.used} Mbit/s, and its bandwidth is ${of.megabits} Mbit/s; bytes beyond that are not billed`,
      `if its network is faster, set its bandwidth with "turnpike node link ${of.name} MBIT"; if not, add a gateway`,
    ),
  nodes_none: pair('there is none, so nothing is sold', 'add one with "turnpike node add NAME"'),
  backups_off: (of: { hours: number }) =>
    pair(
      `TURNPIKE_BACKUP_FOLDER is not set, and "turnpike backup" wrote none in the last ${of.hours} hours`,
      'set TURNPIKE_BACKUP_FOLDER, or run "turnpike backup FOLDER" every night',
    ),
  backups_by_command: (of: { hours: number; elsewhere: string }) =>
    pair(`the newest was written ${of.hours} hours ago by command into ${of.elsewhere}`, ''),
  backups_elsewhere: (of: { folder: string; hours: number; elsewhere: string }) =>
    pair(
      `no scheduled backup is in ${of.folder} (TURNPIKE_BACKUP_FOLDER) or all are too old; the newest was written ` +
        `${of.hours} hours ago by command into ${of.elsewhere}`,
      'the shop makes its first one a minute after its start; if none appears, look for "back up" in its log',
    ),
  backups_none: (of: { folder: string }) =>
    pair(
      `there is none in ${of.folder} (TURNPIKE_BACKUP_FOLDER), and "turnpike backup" wrote none lately elsewhere`,
      'the shop makes the first one a minute after its start; if none appears, look for "back up" in its log',
    ),
  backups_due: (of: { folder: string }) =>
    pair(
      `there is none in ${of.folder} yet: the shop has just started`,
      'run the command again in two minutes; the shop makes its first backup a minute after its start',
    ),
  backups_denied: (of: { path: string; user: string }) =>
    pair(`permission denied reading ${of.path}`, `let the user ${of.user} read it, or run the command as root`),
  backups_old: (of: { hours: number }) =>
    pair(`the newest is ${of.hours} hours old`, 'look for "job failed" with "back up" in the shop’s log'),
  backups_fresh: (of: { hours: number }) => pair(`the newest is ${of.hours} hours old`, ''),
  address_refuses: pair(
    'the public address refuses connections: no program listens at its port',
    'start the shop or the program in front of it, and compare TURNPIKE_PUBLIC_URL with the port that it listens on',
  ),
  certificate_unseen: (of: { error: string }) =>
    pair(
      `this machine could not connect to its public address: ${of.error}`,
      'try it from another machine; behind NAT this is normal',
    ),
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
  file_lacks_host: (of: { host: string }) =>
    pair(
      `it lacks ${of.host} (TURNPIKE_GATEWAY_HOST), so https:// proxies are listed under another of its names`,
      'add the name to TURNPIKE_ACME_NAMES or to the certificate before that other name moves to another machine',
    ),
  file_good: (of: { names: readonly string[]; days: number }) =>
    pair(`it is for ${of.names.join(', ')} and valid for ${of.days} days`, ''),
  port_ours: pair('Turnpike answers there', ''),
  port_taken: (of: { setting: string; at: string }) =>
    pair(
      `another program answers at ${of.at}`,
      `"ss -ltnp" shows which one: end it, or set another port with ${of.setting}`,
    ),
  port_free: (of: { unit: string; setting: string; at: string }) =>
    pair(
      `no program listens at ${of.at}: this role does not run, or ${of.setting} of this shell is not its own`,
      `run "systemctl start ${of.unit}" ("turnpike" if one unit runs all roles) and read its log, ` +
        `or set ${of.setting} as in the role's settings`,
    ),
  metrics_port_free: (of: { unit: string }) =>
    pair('the process runs and serves no metrics', `look for "metrics not served" in "journalctl -u ${of.unit}"`),
  port_strange: (of: { setting: string; at: string }) =>
    pair(
      `the program at ${of.at} does not answer as Turnpike does`,
      `"ss -ltnp" shows which one: restart Turnpike if it is Turnpike, else set another port with ${of.setting}`,
    ),
  listens_on_one: (of: { address: string; prefix: string }) =>
    pair(
      `it listens on ${of.address} only: customers cannot reach proxies of ${of.prefix}, which the shop sells on it`,
      'set TURNPIKE_GATEWAY_LISTEN=:: (every address of this machine) and restart the gateway, ' +
        `or give the range to another gateway: "turnpike stock assign ${of.prefix} --node NAME"`,
    ),
  name_found: (of: { addresses: readonly string[] }) => pair(`its addresses are ${of.addresses.join(', ')}`, ''),
  name_missing: pair('DNS does not know it', 'enter it into your DNS, or check /etc/resolv.conf of this machine'),
  wireguard_ready: pair('this machine can be a VPN node', ''),
  wireguard_missing: (of: { missing: readonly string[]; how: readonly string[] }) =>
    pair(`missing: ${of.missing.join('; ')}`, of.how.join(' ')),
  role_none: (of: { folder: string }) =>
    pair(
      `no shop, gateway or VPN node has run here: ${of.folder} has no data of one`,
      'start one ("turnpike up", or "systemctl enable --now" with a unit), or name its data folder with --data',
    ),
  role_unstarted: (of: { unit: string; folder: string }) =>
    pair(`it has not run here yet: ${of.folder} has no data of it`, `run "systemctl enable --now ${of.unit}"`),
  shop_none: (of: { folder: string }) =>
    pair(
      `there is no database in ${of.folder}, and TURNPIKE_DATABASE_URL is not set`,
      'start the shop ("systemctl enable --now turnpike-shop"), or name its data folder with --data',
    ),
  node_unjoined: pair(
    'it has not joined its shop, so it serves no customer',
    'on the shop run "turnpike node key NAME", put what it prints into TURNPIKE_NODE_KEY here, and restart the node',
  ),
  link_answers: (of: { url: string }) => pair(`${of.url} answers and accepts this node`, ''),
  link_refused: (of: { url: string }) =>
    pair(
      `${of.url} does not know this node any more, so it serves no customer`,
      'on the shop run "turnpike node key NAME", put what it prints into TURNPIKE_NODE_KEY here, and restart the node',
    ),
  link_broken: (of: { url: string; error: string }) =>
    pair(
      `the shop cannot be used through ${of.url}: ${of.error}`,
      'check that the shop runs, its certificate, and the network to it; TURNPIKE_SHOP_URL has its address',
    ),
  link_setting: (of: { error: string }) => pair(of.error, 'correct TURNPIKE_SHOP_URL'),
  dns_answers: (of: { servers: readonly string[] }) => pair(`${of.servers.join(', ')} answers`, ''),
  dns_fails: (of: { servers: readonly string[]; error: string }) =>
    pair(
      `${of.servers.join(', ')} does not answer (${of.error}): customers reach no destination by name`,
      'correct the name servers in /etc/resolv.conf, or start the local one; the gateway needs no restart',
    ),
  vpn_stopped: pair(
    'it does not run, so no device of a customer connects',
    'run "systemctl start turnpike-vpn-node", and read its log',
  ),
  vpn_runs: (of: { pid: number }) => pair(`it runs as process ${of.pid}`, ''),
  prices_none: pair(
    'there are none, so nothing can be bought',
    '"turnpike catalog show --shipped > prices.yaml" writes a list: put in your prices, and run "turnpike catalog ' +
      'apply - < prices.yaml"',
  ),
  ranges_unserved: (of: { ranges: number; prefix: string; reasons: readonly string[] }) =>
    pair(
      `no gateway serves an address of ${of.prefix}${of.ranges > 1 ? ` and ${of.ranges - 1} more ranges` : ''}: ` +
        'none of them is sold',
      [...of.reasons, '"turnpike stock ranges" has the reason for each range'].join('; '),
    ),
  ranges_partly_served: (of: { served: number; slots: number }) =>
    pair(
      `${of.served} of ${of.slots} addresses are served; the others are not sold`,
      '"turnpike stock ranges" has the reasons',
    ),
  ranges_served: (of: { slots: number }) => pair(`all ${of.slots} addresses are served`, ''),
  exits_down: (of: { exits: readonly string[] }) =>
    pair(
      `these exits cannot be used, and no premium traffic leaves through them: ${of.exits.join(', ')}`,
      '"turnpike exit list" has the reasons',
    ),
  exits_untried: (of: { exits: number }) =>
    pair(`no gateway has tried ${of.exits} exits yet`, 'look again in a minute with "turnpike exit list"'),
  path_up: pair('the hop goes over TLS, and the connection is up', ''),
  path_down: (of: { reason: string }) =>
    pair(
      `the entry has no TLS connection to the exit: ${of.reason}`,
      'check the exit’s TLS port (TURNPIKE_GATEWAY_TLS_PORT), its endpoint ("turnpike node endpoint") and the firewall',
    ),
  path_unnamed: (of: { host: string }) =>
    pair(
      'the hop is up, but VPN links do not name the exit: its certificate has no name that is its host',
      `give the exit a certificate with its host${of.host && ` (${of.host})`} as subject alternative name, and ` +
        'compare "turnpike node endpoint" with it',
    ),
  path_unknown: pair(
    'the entry has not reported the state of this path',
    'look again in a minute with "turnpike node show"',
  ),
  path_plain: pair(
    'the hop goes over the plain port, because the exit reports no TLS port',
    'set TURNPIKE_GATEWAY_TLS_PORT and a certificate at the exit',
  ),
  exits_up: (of: { exits: number }) => pair(`all ${of.exits} exits can be used`, ''),
  shop_closed: (of: { because: string; way_out: string }) => pair(`it is closed. ${of.because}`, of.way_out),
  shop_empty: pair('its database is empty', 'run "systemctl start turnpike-shop", or "turnpike shop"'),
  database_unopened: (of: { address: string; error: string }) => pair(`${of.address} cannot be opened`, of.error),
  database_moved: (of: { path: string }) =>
    pair(
      `${of.path} was moved or replaced while the shop had it open: the shop refuses every change`,
      `put the right file in place and restart the shop: see ${docsPage('operate/incidents.md')}`,
    ),
  database_silent: pair(
    'it does not answer',
    'check that it runs, that its address is right, and that it has a free connection',
  ),
  migrations_pending: (of: { count: number }) =>
    pair(`${of.count} migrations are not applied`, 'start the shop, or run "turnpike migrate"'),
  schema_wrong: (of: { error: string }) =>
    pair(of.error, 'run the version that the database was migrated with, or a later one'),
  schema_right: pair('it is the schema of this version', ''),
  key_wrong: (of: { error: string }) =>
    pair(
      of.error,
      'bring secret.key back from a backup, or set TURNPIKE_SECRET_KEY: without the key no password can be shown again',
    ),
  key_right: pair('it is the key of this shop', ''),
  reach: (of: { setting: string; host: string }) =>
    pair(`${of.setting} is ${of.host}, which no customer can reach`, `set ${of.setting} to an address for customers`),
  ways_in_work: (of: { ways: readonly string[]; off: readonly string[] }) =>
    pair(`${of.ways.join(', ')} work from here${of.off.length > 0 ? `; off: ${of.off.join(', ')}` : ''}`, ''),
  ways_in_fail: (of: { ways: readonly string[]; at: string; stage: WayInStage; problem: string }) =>
    pair(`${of.ways.join(', ')} fail at ${of.at}, ${stageNames[of.stage]}: ${of.problem}`, stageAdvice[of.stage]),
  registration_unconfirmed: pair(
    'the shop sends no e-mail: visitors can register with any address and find out which addresses are taken',
    'set TURNPIKE_SMTP_URL, or register customers yourself (TURNPIKE_REGISTRATION=off)',
  ),
  history_behind: (of: { versions: number }) =>
    pair(
      `no checkpoint covers ${of.versions} versions of rows or more, which can be deleted without a trace`,
      'run "turnpike checkpoint"; look for "job failed" with "checkpoint" in the log, and for a flood of changes',
    ),
  checkpoints_inside: pair(
    'they are kept in the database alone',
    `set TURNPIKE_CHECKPOINT_FILE or TURNPIKE_CHECKPOINT_URL: see ${docsPage('operate/verify.md')}`,
  ),
}

export type DoctorSentences = typeof sentences
