/**
 * One direction of a tunnel: bytes flow from a source to a sink. Every state, every thing that can happen in it, and
 * what is done then. A tunnel has two directions, each in a state of its own.
 */

export const flowStates = [
  /** Nothing is held. What the source has is read as soon as it has something. */
  'open',
  /** The sink did not take all; nothing is read until it has. */
  'held',
  /** The source has something, and there is no traffic to carry it with. */
  'starved',
  /** The source has said all it will say; what is held of it goes out first. */
  'last',
  /** All was said and passed on. */
  'done',
] as const

export const flowEvents = [
  /** The source has something, or has ended. */
  'readable',
  /** The sink takes bytes again. */
  'writable',
  /** There is traffic to carry with. */
  'allowed',
  /** There is none, and it is sure that none comes. */
  'exhausted',
  /** The sink took less than it was given. */
  'blocked',
  /** All that was held has gone out. */
  'drained',
  /** The source has something, and there is no traffic for it. */
  'dry',
  /** The source has said all it will say. */
  'ended',
] as const

const flowActions = [
  'nothing',
  /** Reads from the source and passes on. */
  'fill',
  /** Passes on what is held. */
  'drain',
  /** Asks for traffic and waits. */
  'wait',
  /** Tells the sink that nothing more comes. */
  'shut',
  /** Ends the tunnel where it is: its traffic is used up. */
  'exhaust',
  /** Cannot happen; a bug of ours. */
  'fault',
] as const

export type FlowState = (typeof flowStates)[number]
export type FlowEvent = (typeof flowEvents)[number]
type FlowAction = (typeof flowActions)[number]

/** What is done, and the state that follows; the same state unless said. */
type Cell = FlowAction | readonly [FlowAction, FlowState]

const flowTable: Readonly<Record<FlowState, Readonly<Record<FlowEvent, Cell>>>> = {
  open: {
    readable: 'fill',
    writable: 'nothing',
    allowed: 'nothing',
    exhausted: 'nothing',
    blocked: ['nothing', 'held'],
    drained: 'fault',
    dry: ['wait', 'starved'],
    ended: ['shut', 'done'],
  },
  held: {
    readable: 'nothing',
    writable: 'drain',
    allowed: 'nothing',
    exhausted: 'nothing',
    blocked: 'nothing',
    drained: ['fill', 'open'],
    dry: 'fault',
    ended: ['nothing', 'last'],
  },
  starved: {
    readable: 'nothing',
    writable: 'nothing',
    allowed: ['fill', 'open'],
    exhausted: 'exhaust',
    blocked: 'fault',
    drained: 'fault',
    dry: 'fault',
    ended: 'fault',
  },
  last: {
    readable: 'nothing',
    writable: 'drain',
    allowed: 'nothing',
    exhausted: 'nothing',
    blocked: 'nothing',
    drained: ['shut', 'done'],
    dry: 'fault',
    ended: 'fault',
  },
  done: {
    readable: 'nothing',
    writable: 'nothing',
    allowed: 'nothing',
    exhausted: 'nothing',
    blocked: 'fault',
    drained: 'fault',
    dry: 'fault',
    ended: 'fault',
  },
}

type Step = { readonly action: FlowAction; readonly next: FlowState }
type Steps<Of extends FlowState> = Readonly<Record<Of, Readonly<Record<FlowEvent, Step>>>>

/** The table in the one shape that the loop looks into, for every event. */
export const flowSteps = Object.fromEntries(
  flowStates.map((state) => [
    state,
    Object.fromEntries(
      flowEvents.map((event) => {
        const cell = flowTable[state][event]
        return [event, typeof cell === 'string' ? { action: cell, next: state } : { action: cell[0], next: cell[1] }]
      }),
    ),
  ]),
) as Steps<FlowState>
