import type { Log } from '../../core/log.ts'
import type { Stalls } from '../../core/stall-monitor.ts'
import { deleteFullBuckets } from '../../db/token-buckets.ts'
import { alertJobs } from '../../jobs/alerts.ts'
import type { Job } from '../../jobs/jobs.ts'
import { noticeJobs } from '../../jobs/notices.ts'
import {
  dedicatedJobs,
  fleetJobs,
  moneyJobs,
  outageJobs,
  paymentJobs,
  premiumJobs,
  retentionJobs,
  trafficJobs,
  vpnJobs,
} from '../../jobs/shop.ts'
import type { Runtime, Services } from './services.ts'

/** The periodic tasks over the database that every shop has. */
export const shopJobs = (
  services: Services,
  runtime: Runtime & { readonly stalls: Stalls },
  log: Log,
  certificateEndsAt: () => number | undefined,
): readonly Job[] => [
  ...moneyJobs(services, log),
  ...dedicatedJobs(services, log),
  ...premiumJobs(services, log),
  ...trafficJobs({ ...services, ...runtime }, log),
  ...vpnJobs(services, log),
  ...fleetJobs({ ...services, ...runtime }, log),
  ...outageJobs(services, log),
  ...retentionJobs(
    { ...services, deleteBuckets: (limit) => deleteFullBuckets(services.db, runtime.clock(), limit) },
    log,
  ),
  ...paymentJobs(services, log),
  ...alertJobs({ ...services, ...runtime, certificateEndsAt }),
  ...noticeJobs(services),
]
