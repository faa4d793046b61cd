import { existsSync, readFileSync } from 'node:fs'

const everyMs = 100
const tooLateMs = 1_000
/** What a machine without time has left undone may show a little later. */
const graceMs = 10_000
const mostKept = 1_000
/** Of ten seconds, the part in which somebody waited for a processor; beyond this everybody's time-outs run out. */
const tooBusyPercent = 60
const pressureFile = '/proc/pressure/cpu'

/**
 * Whether this machine has time for anybody: the storm's own clock tells, by how late it strikes, and the system, by
 * how long programs wait.
 */
export class Machine {
  lateTimes = 0
  longestMs = 0
  busyMs = 0
  private readonly hasPressure = existsSync(pressureFile)
  private readonly strikes: { readonly atMs: number; readonly byMs: number; readonly isBusy: boolean }[] = []
  private struckMs = performance.now()
  private readonly timer = setInterval(() => this.strike(), everyMs)

  /** True if it was late by so much since then, or not long before. */
  wasLate(sinceMs: number, byMs = tooLateMs): boolean {
    return this.strikes.some((each) => (each.byMs >= byMs || each.isBusy) && each.atMs >= sinceMs - graceMs)
  }

  stop(): void {
    clearInterval(this.timer)
  }

  private isBusy(): boolean {
    if (!this.hasPressure) return false
    return Number(/^some avg10=([\d.]+)/.exec(readFileSync(pressureFile, 'utf8'))?.[1] ?? 0) >= tooBusyPercent
  }

  private strike(): void {
    const atMs = performance.now()
    const byMs = atMs - this.struckMs - everyMs
    this.struckMs = atMs
    this.longestMs = Math.max(this.longestMs, Math.round(byMs))
    if (byMs >= tooLateMs) this.lateTimes += 1
    const isBusy = this.isBusy()
    if (isBusy) this.busyMs += byMs + everyMs
    this.strikes.push({ atMs, byMs, isBusy })
    if (this.strikes.length > mostKept) this.strikes.shift()
  }
}
