import { type Audit, attempt, type Finding, maxFindings, type Verifier } from '../../core/finding.ts'
import { type CustomerId, type SubuserId, timeOfId } from '../../core/ids.ts'
import { readProxyLogin } from '../../core/login.ts'
import type { Clock } from '../../core/time.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database, Reader } from '../../db/transaction.ts'
import { subjectOf } from '../traffic/accounts/rules.ts'
import type { Traffic } from '../traffic/index.ts'
import { portsAfter } from './access/store.ts'
import { contextOf as exitContextOf } from './exits/rules.ts'
import { changedAfter, unevenExits, unsoundExits } from './exits/store.ts'
import type { PremiumTerms } from './rules.ts'
import { contextOf } from './subusers/rules.ts'
import { ownersOf, type SecretRow, secretsAfter } from './subusers/store-audit.ts'
import { hostSubjectOf, hourOf } from './usage/rules.ts'
import { hostsAfter, hoursAfter, unsoundHours } from './usage/store-audit.ts'

const page = 500

type Parts = {
  readonly db: Database
  readonly clock: Clock
  readonly vault: Vault
  readonly sha256: (text: string) => Uint8Array
  readonly terms: PremiumTerms
  readonly traffic: {
    readonly counts: Pick<Traffic['counts'], 'totals'>
    readonly leases: Pick<Traffic['leases'], 'billedOf'>
  }
}

/** What lets sub-users in opens and is theirs, exits can be used, and the hours show what nodes have carried. */
export function createAccessVerifier(deps: Parts): Verifier {
  return {
    name: 'access',
    verify: (onProgress) =>
      deps.db.snapshot(async (reader): Promise<Audit> => {
        const findings: Finding[] = []
        const subusers = await checkSubusers(deps, reader, findings)
        onProgress?.(subusers)
        const exits = await checkExits(deps, reader, findings)
        for (const id of await unevenExits(reader, maxFindings)) {
          findings.push(found('exit', `exit ${id}`, 'its days do not add up to what gateways counted'))
        }
        for (const { exit, problem } of await unsoundExits(reader, maxFindings)) {
          findings.push(found('exit', `exit ${exit}`, problem))
        }
        await checkPorts(reader, findings)
        const hours = await checkHours(deps, reader, findings)
        await checkHosts(deps, reader, findings)
        for (const { host, ...account } of await unsoundHours(reader, maxFindings)) {
          const where = host === '' ? subjectOf(account) : hostSubjectOf({ ...account, host })
          findings.push(found('hours', where, 'its figures are not those that were last written'))
        }
        const covered = { 'sub-users': subusers, exits, 'accounts with hours': hours }
        return { findings: findings.slice(0, maxFindings), covered }
      }),
  }
}

const found = (promise: string, where: string, problem: string): Finding => ({ promise, where, problem })

async function checkSubusers(deps: Parts, reader: Reader, findings: Finding[]): Promise<number> {
  let count = 0
  for (let after = ''; ; ) {
    const batch = await secretsAfter(reader, after, page)
    const heirs = await ownersOf(
      reader,
      batch.flatMap((row) => row.heir_id ?? []),
    )
    for (const row of batch) {
      const where = `sub-user ${row.id}`
      for (const problem of problemsOfSubuser(deps, row, heirs)) findings.push(found('sub-user', where, problem))
    }
    count += batch.length
    const last = batch.at(-1)
    if (!last || batch.length < page) return count
    after = last.id
  }
}

function problemsOfSubuser(deps: Parts, row: SecretRow, heirs: ReadonlyMap<SubuserId, CustomerId>): string[] {
  const problems: string[] = []
  if (timeOfId(row.id) !== Number(row.created_at)) problems.push('it is not dated as its id is')
  if (row.heir_id !== null && heirs.get(row.heir_id) !== row.customer_id) {
    problems.push('its traffic goes to a sub-user that is not there, or is another customer’s')
  }
  try {
    const password = deps.vault.open(row.password, contextOf(row.id))
    if (deps.sha256(password).toHex() !== row.digest.toHex()) problems.push('its password is not the one nodes know')
  } catch {
    problems.push('its password does not open')
  }
  return problems
}

async function checkExits(deps: Parts, reader: Reader, findings: Finding[]): Promise<number> {
  let count = 0
  for (let after = { changedAt: -1, id: '' }; ; ) {
    const batch = await changedAfter(reader, after, page, false)
    for (const { exit, credentials } of batch) {
      const where = `exit ${exit.id}`
      if (timeOfId(exit.id) !== exit.createdAt) findings.push(found('exit', where, 'it is not dated as its id is'))
      await attempt(findings, { promise: 'exit', where }, () => {
        if (credentials !== null) JSON.parse(deps.vault.open(credentials, exitContextOf(exit.id)))
      })
    }
    count += batch.length
    const last = batch.at(-1)?.exit
    if (!last || batch.length < page) return count
    after = last
  }
}

/** A port stands for a login of its own sub-user that can be read. */
async function checkPorts(reader: Reader, findings: Finding[]): Promise<void> {
  for (let after = 0; ; ) {
    const batch = await portsAfter(reader, after, page)
    for (const { port, login, parameters } of batch) {
      if (login === null || readProxyLogin(parameters)?.login !== login) {
        findings.push(found('port', `port ${port}`, 'it stands for a login that is not its sub-user’s'))
      }
    }
    const last = batch.at(-1)
    if (!last || batch.length < page) return
    after = last.port
  }
}

/** What the hours add up to is what nodes have billed: neither what is in quarantine nor what was restored. */
async function checkHours(deps: Parts, reader: Reader, findings: Finding[]): Promise<number> {
  let count = 0
  for (let after = { subuser: '' as SubuserId, pool: '' }; ; ) {
    const batch = await hoursAfter(reader, after, page)
    const subjects = batch.map(subjectOf)
    const billed = await deps.traffic.leases.billedOf(reader, batch)
    const counted = await deps.traffic.counts.totals(reader, subjects)
    for (const sums of batch) {
      const subject = subjectOf(sums)
      const most = counted.get(subject)
      const isSame = sums.received + sums.sent === (billed.get(subject) ?? 0n)
      const isWithin = sums.received <= (most?.received ?? 0n) && sums.sent <= (most?.sent ?? 0n)
      if (!isSame || !isWithin) findings.push(found('hours', subject, 'its hours are not what nodes have counted'))
    }
    count += batch.length
    const last = batch.at(-1)
    if (!last || batch.length < page) return count
    after = last
  }
}

/** No host was sent more than nodes have counted for it. What is older than hosts are kept may be forgotten in part. */
async function checkHosts(deps: Parts, reader: Reader, findings: Finding[]): Promise<void> {
  const sinceAt = hourOf(deps.clock()) - deps.terms.hostDays * 86_400_000
  for (let after = { subuser: '' as SubuserId, pool: '', host: '' }; ; ) {
    const batch = await hostsAfter(reader, sinceAt, after, page)
    const counted = await deps.traffic.counts.totals(reader, batch.map(hostSubjectOf))
    for (const sums of batch) {
      const most = counted.get(hostSubjectOf(sums))
      if (sums.received > (most?.received ?? 0n) || sums.sent > (most?.sent ?? 0n)) {
        findings.push(found('hosts', hostSubjectOf(sums), 'it shows more than nodes have counted'))
      }
    }
    const last = batch.at(-1)
    if (!last || batch.length < page) return
    after = last
  }
}
