import { expect, test } from 'bun:test'
import { Metrics } from '../../core/metrics.ts'
import { createShopMetrics } from './shop.ts'

test('turnpike_job_failures counts failures in a row, and is 0 after a success and while another shop runs the job', async () => {
  const metrics = new Metrics()
  const { job } = createShopMetrics(metrics, () => 0)
  const failures = async () => /^turnpike_job_failures\{name="prune"\} (\d+)$/m.exec(await metrics.write())?.[1]
  const seen: (string | undefined)[] = []
  for (const outcome of ['done', 'failed', 'failed', 'done', 'failed', 'elsewhere'] as const) {
    job({ name: 'prune', outcome })
    seen.push(await failures())
  }
  expect(seen).toEqual(['0', '1', '2', '0', '1', '0'])
  expect(await metrics.write()).toContain('turnpike_job_runs_total{name="prune",outcome="failed"} 3')
  expect(await metrics.write()).not.toContain('outcome="elsewhere"')
})
