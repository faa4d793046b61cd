import type { Notices } from '../domains/notices/index.ts'
import { batchJob, type Job } from './jobs.ts'

const hourMs = 3_600_000
/** Letters that one shop sends at a time. */
const atOnce = 5

type NoticeJobs = Pick<Notices, 'walk' | 'collect' | 'sendDue' | 'forgetLetters'>

/** Gives mailings to their customers, and sends letters: each shop those that no other has. */
export const noticeJobs = ({ notices }: { notices: NoticeJobs }): readonly Job[] => [
  batchJob('walk mailings', 5000, 200, (limit) => notices.walk(limit), 20),
  batchJob('collect notices', 10_000, 100, (limit) => notices.collect(limit), 20),
  { ...batchJob('send notices', 5000, atOnce, (limit) => notices.sendDue(limit), 20), isOwn: true },
  batchJob('forget letters', hourMs, 500, (limit) => notices.forgetLetters(limit)),
]
