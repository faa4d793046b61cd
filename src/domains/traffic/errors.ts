import { malformed, type Refusal } from '../../kernel/refusal.ts'

export const tooManyCounts = (most: number): Refusal =>
  malformed([{ field: 'counts', problem: `must be at most ${most} at a time` }])

export const tooManyWishes = (most: number): Refusal =>
  malformed([{ field: 'wishes', problem: `must be at most ${most} at a time` }])
