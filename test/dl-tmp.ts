import { readdirSync, readFileSync } from 'node:fs'
import { addStock, buyProxies, openFloor, shippedWith } from '/work/main/test/harness/proxies.ts'
import { addCustomer } from '/work/main/test/harness/wired.ts'

const floor = await openFloor('postgres', shippedWith('CH'))
const customers = await Promise.all(Array.from({ length: 24 }, () => addCustomer(floor.services, 10n ** 11n)))
let slow = 0

import { SQL } from 'bun'

const sql = new SQL(floor.place.address, { max: 1 })
const name = new URL(floor.place.address).pathname.slice(1)
await sql.unsafe(`ALTER DATABASE ${name} SET log_min_messages='error'`)
await sql.close()

import { openDatabase } from '/work/main/src/db/open.ts'
import { wire } from '/work/main/test/harness/wired.ts'

const services = wire(openDatabase(floor.place.address), floor.clock)
for (let round = 1; round <= 150; round++) {
  await addStock(services, `10.${round}.0.0/29`, 'CH', 3)
  const t = performance.now()
  const r = await Promise.allSettled(customers.map((c) => buyProxies(services, c, { code: 'CH', ipv: 3, period: 7 })))
  const ms = performance.now() - t
  if (ms > 700) slow++
  const bad = r.filter((x) => x.status === 'rejected').length
  if (bad) console.log('round', round, 'bad', bad)
}
console.log(
  'slow',
  slow,
  await floor.db.all('SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()'),
)
for (const d of readdirSync('/tmp')) {
  try {
    const t = readFileSync(`/tmp/${d}/log`, 'utf8')
    const i = t.indexOf('deadlock detected')
    if (i >= 0) console.log(t.slice(i, i + 1800))
  } catch {}
}
await floor.close()
