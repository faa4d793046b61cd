import type { Notices } from '../domains/notices/index.ts'
import { batchJob, type Job } from './jobs.ts'

/** Gives mailings to their customers. */
export const noticeJobs = ({ notices }: { notices: Pick<Notices, 'walk'> }): readonly Job[] => [
  batchJob('walk mailings', 5000, 200, (limit) => notices.walk(limit), 20),
]
