import { EndedSessions } from '../../site/carried/xhttp.ts'
import type { FromSessions, PassedUpload, ToSessions } from './xhttp-uploads.ts'

export type HomesDeps = {
  readonly post: (reactor: number, message: ToSessions) => void
  /** False if the reactor does not run. */
  readonly give: (reactor: number, upload: PassedUpload) => boolean
  readonly close: (descriptor: number) => void
}

/** Which reactor has which session of XHTTP, on the main thread. It has no entry for sessions without one. */
export class XhttpHomes {
  private readonly homes = new Map<string, number>()
  /** Reactors where uploads wait for a session. */
  private readonly seekers = new Map<string, Set<number>>()
  private readonly ended = new EndedSessions()

  constructor(private readonly deps: HomesDeps) {}

  take(reactor: number, message: FromSessions): void {
    if (message.type === 'upload') this.pass(message)
    else if (message.is === 'open') this.open(reactor, message.name)
    else if (message.is === 'sought') this.seek(reactor, message.name)
    else {
      if (message.is === 'ended') this.ended.add(message.name)
      this.leave(reactor, message.name)
    }
  }

  /** A reactor's sessions and waiting uploads ended with it. */
  died(reactor: number): void {
    for (const [name, home] of this.homes) if (home === reactor) this.homes.delete(name)
    for (const name of this.seekers.keys()) this.leave(reactor, name)
  }

  get size(): number {
    return this.homes.size + this.seekers.size
  }

  private open(reactor: number, name: string): void {
    // A second download of the name is a session of its own, for uploads in its own reactor.
    if (this.homes.has(name)) return
    this.ended.delete(name)
    this.homes.set(name, reactor)
    for (const seeker of this.seekers.get(name) ?? []) this.found(seeker, reactor, name)
    this.seekers.delete(name)
  }

  private seek(reactor: number, name: string): void {
    const home = this.homes.get(name)
    if (home !== undefined) this.found(reactor, home, name)
    else if (this.ended.find(name)) this.deps.post(reactor, { type: 'session-ended', name })
    else this.seekers.set(name, (this.seekers.get(name) ?? new Set()).add(reactor))
  }

  private found(seeker: number, home: number, name: string): void {
    if (seeker !== home) this.deps.post(seeker, { type: 'session-found', name })
  }

  private leave(reactor: number, name: string): void {
    if (this.homes.get(name) === reactor) this.homes.delete(name)
    const seekers = this.seekers.get(name)
    if (seekers?.delete(reactor) && seekers.size === 0) this.seekers.delete(name)
  }

  private pass({ name, seq, descriptor }: PassedUpload): void {
    const home = this.homes.get(name)
    if (home === undefined || !this.deps.give(home, { name, seq, descriptor })) this.deps.close(descriptor)
  }
}
