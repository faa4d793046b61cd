import { describe, expect, test } from 'bun:test'
import { Metrics } from './metrics.ts'

describe('Metrics', () => {
  test('Metrics.write() writes counters, gauges and histograms in Prometheus text format', async () => {
    const metrics = new Metrics()
    const sold = metrics.counter('turnpike_sales_total', 'Sales.')
    sold.add({ product: 'vpn' })
    sold.add({ product: 'vpn' })
    sold.add({ product: 'a "quoted"\nname \\' }, 3)
    metrics.gauge('turnpike_tunnels', 'Tunnels\nthat are open.', () => 7)
    const took = metrics.histogram('turnpike_seconds', 'How long.', [0.1, 1])
    for (const value of [0.05, 0.1, 0.5, 5]) took.observe({ area: 'x' }, value)
    expect(await metrics.write()).toBe(
      [
        '# HELP turnpike_sales_total Sales.',
        '# TYPE turnpike_sales_total counter',
        'turnpike_sales_total{product="vpn"} 2',
        'turnpike_sales_total{product="a \\"quoted\\"\\nname \\\\"} 3',
        '# HELP turnpike_tunnels Tunnels\\nthat are open.',
        '# TYPE turnpike_tunnels gauge',
        'turnpike_tunnels 7',
        '# HELP turnpike_seconds How long.',
        '# TYPE turnpike_seconds histogram',
        'turnpike_seconds_bucket{area="x",le="0.1"} 2',
        'turnpike_seconds_bucket{area="x",le="1"} 3',
        'turnpike_seconds_bucket{area="x",le="+Inf"} 4',
        'turnpike_seconds_sum{area="x"} 5.65',
        'turnpike_seconds_count{area="x"} 4',
        '',
      ].join('\n'),
    )
  })

  test('Metrics.write() omits a gauge that cannot be read, and limits a counter to 500 series', async () => {
    const metrics = new Metrics()
    metrics.gauge('turnpike_lost', 'Lost.', async () => {
      throw new Error('the database is away')
    })
    metrics.gauge('turnpike_unknown', 'Unknown.', () => undefined)
    const counter = metrics.counter('turnpike_many_total', 'Many.')
    for (let each = 0; each < 2000; each += 1) counter.add({ each: String(each) })
    const text = await metrics.write()
    expect(text).not.toContain('turnpike_lost')
    expect(text).not.toContain('turnpike_unknown')
    expect(text.split('\n')).toHaveLength(503)
  })
})
