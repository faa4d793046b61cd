import type { NodeKind } from '../../domains/fleet/rules.ts'

/** What a line of the doctor is about, in both languages. */
export type DoctorSubject = { readonly en: string; readonly ru: string }

const both = (en: string, ru: string): DoctorSubject => ({ en, ru })

const portOwners = {
  shop: both('the shop', 'магазина'),
  gateway: both('the gateway', 'шлюза'),
  'gateway-tls': both('the gateway over TLS', 'шлюза по TLS'),
  'shop-metrics': both("the shop's figures", 'метрик магазина'),
  'gateway-metrics': both("the gateway's figures", 'метрик шлюза'),
  'vpn-node-metrics': both("the VPN node's figures", 'метрик узла VPN'),
}
export type PortOwner = keyof typeof portOwners

export const subject = {
  backupDisk: both('disk of the backups', 'диск резервных копий'),
  backups: both('backups', 'резервные копии'),
  certificateIn: (file: string) => both(`certificate in ${file}`, `сертификат в ${file}`),
  certificateOf: (host: string) => both(`certificate of ${host}`, `сертификат ${host}`),
  checkpoints: both('checkpoints', 'контрольные точки'),
  clock: both('clock', 'часы'),
  dataDisk: both('disk of the data folder', 'диск папки данных'),
  database: both('database', 'база данных'),
  databaseSettings: both('database settings', 'настройки базы данных'),
  dns: both('DNS', 'DNS'),
  exits: both('exits', 'выходы'),
  files: both('open files', 'открытые файлы'),
  gateway: both('gateway', 'шлюз'),
  key: both('secret key', 'секретный ключ'),
  link: both('link to the shop', 'связь с магазином'),
  name: (name: string) => both(`name ${name}`, `имя ${name}`),
  node: (kind: NodeKind, name: string) => both(`${kind} ${name}`, `${kind === 'vpn' ? 'узел VPN' : 'шлюз'} ${name}`),
  nodes: both('nodes', 'узлы'),
  path: (entry: string, exit: string) => both(`path ${entry} → ${exit}`, `путь ${entry} → ${exit}`),
  port: (port: number, owner: PortOwner) =>
    both(`port ${port} of ${portOwners[owner].en}`, `порт ${port} ${portOwners[owner].ru}`),
  tlsLibrary: both('library for TLS', 'библиотека TLS'),
  prices: both('prices', 'цены'),
  proxies: both('trusted proxies', 'доверенные прокси'),
  reach: both('reach', 'доступность'),
  registration: both('registration', 'регистрация'),
  replication: both('replication of the database', 'репликация базы данных'),
  rights: (path: string) => both(`rights of ${path}`, `права на ${path}`),
  role: both('role', 'роль'),
  schema: both('schema', 'схема базы'),
  settings: both('settings', 'настройки'),
  shop: both('shop', 'магазин'),
  stock: both('stock', 'адреса'),
  vpnNode: both('VPN node', 'узел VPN'),
  waysIn: (name: string) => both(`ways in of gateway ${name}`, `входы шлюза ${name}`),
  wireguard: both('WireGuard', 'WireGuard'),
}
