import { existsSync, readFileSync } from 'node:fs'

const everyMs = 100
const tooLateMs = 1_000
/** Effects of an overload may appear a little later. */
const graceMs = 10_000
const maxKept = 1_000
/** The percentage of ten seconds in which a process waited for a processor; beyond this, timeouts expire everywhere. */
const tooBusyPercent = 60
const pressureFile = '/proc/pressure/cpu'

/** Whether this machine is overloaded: measured by the delay of a timer and by the kernel's CPU pressure. */
export class Machine {
  lateTimes = 0
  longestMs = 0
  busyMs = 0
  private readonly hasPressure = existsSync(pressureFile)
  private readonly strikes: { readonly atMs: number; readonly byMs: number; readonly isBusy: boolean }[] = []
  private struckMs = performance.now()
  private readonly timer = setInterval(() => this.strike(), everyMs)

  /** True if a timer was late by so much since then, or shortly before. */
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
    if (this.strikes.length > maxKept) this.strikes.shift()
  }
}
