import { describe, expect, test } from 'bun:test'
import {
  addCounts,
  countLines,
  findNotRun,
  findSlowest,
  keepFailing,
  readFailures,
  readTestReport,
  toVerdict,
} from './verdict.ts'

const reportOf = (tests: number, failures: number, skipped: number) =>
  `<?xml version="1.0"?>\n<testsuites name="bun test" tests="${tests}" assertions="9" failures="${failures}" skipped="${skipped}" time="1">\n</testsuites>\n`

describe('the verdict of a test run', () => {
  test('readTestReport returns the passed, failed and skipped tests of a report', () => {
    expect(readTestReport(reportOf(10, 2, 1), '', 1)).toEqual({ passed: 7, failed: 2, skipped: 1 })
    expect(readTestReport(reportOf(10, 0, 0), '', 0)).toEqual({ passed: 10, failed: 0, skipped: 0 })
  })

  test('readTestReport counts a crash, a missing, empty or cut report and a bad exit code as a failure', () => {
    expect(readTestReport('', '', 139).failed).toBe(1)
    expect(readTestReport('', '', 0).failed).toBe(1)
    expect(readTestReport(reportOf(0, 0, 0), '', 0).failed).toBe(1)
    expect(readTestReport(reportOf(5, 0, 0), '', 1)).toEqual({ passed: 5, failed: 1, skipped: 0 })
    expect(readTestReport(reportOf(5, 1, 0), 'a.test.ts:\n\n 4 pass\n 2 fail\n 1 error\n', 1).failed).toBe(2)
    expect(readTestReport(reportOf(5, 0, 0).replace('</testsuites>', ''), '', 0).failed).toBe(1)
  })

  test('toVerdict mentions skipped tests only when there are any', () => {
    expect(toVerdict({ passed: 3, failed: 0, skipped: 0 })).toBe('3 passed, 0 failed')
    expect(toVerdict(addCounts({ passed: 3, failed: 1, skipped: 1 }, { passed: 1, failed: 0, skipped: 1 }))).toBe(
      '4 passed, 1 failed, 2 skipped',
    )
  })

  test('findNotRun returns each reason for skipped tests once', () => {
    const output =
      'a.test.ts:\nnot run here: tunnels: no root\n(skip) one\nnot run here: tunnels: no root\nis not run here: no\n'
    expect(findNotRun(output)).toEqual(['not run here: tunnels: no root'])
    expect(findNotRun('all is well\n')).toEqual([])
  })

  test('readFailures lists failures with file, line, title and the first line of the message', () => {
    const xml = `<testsuites tests="3"><testsuite name="a">
      <testcase name="one &amp; two" classname="grp" time="0.3" file="a.test.ts" line="2" assertions="1">
        <failure type="AssertionError" message="expect(received).toBe(expected)&#10;&#10;x">Error: no&#10; at a.test.ts:7:3</failure>
      </testcase>
      <testcase name="ok" classname="" time="1.5" file="a.test.ts" line="9" assertions="1" />
      <testcase name="(unnamed)" classname="" time="0" file="b.test.ts" assertions="0">
        <failure type="Error">Error: setup failed</failure>
      </testcase></testsuite></testsuites>`
    expect(readFailures(xml)).toEqual([
      'a.test.ts:7 grp > one & two: expect(received).toBe(expected)',
      'b.test.ts: (unnamed): Error: setup failed',
    ])
    expect(findSlowest([xml], 2)).toEqual(['slow 1.5 s a.test.ts ok', 'slow 0.3 s a.test.ts grp > one & two'])
  })

  test('keepFailing leaves out passing tests and files without other output', () => {
    const output =
      'bun test\n\na.test.ts:\n(pass) one\n\nb.test.ts:\n(pass) two\nerror: x\n(fail) three\n\nc.test.ts:\n'
    expect(keepFailing(output)).toBe('bun test\n\n\nb.test.ts:\nerror: x\n(fail) three')
  })

  test('countLines counts passed tests, failed tests and files of the output', () => {
    const counted = { passed: 0, failed: 0, files: new Set<string>() }
    countLines('a.test.ts:\n(pass) one\n(fail) two\n\na.test.ts:\n(pass) three\n', counted)
    expect({ ...counted, files: counted.files.size }).toEqual({ passed: 2, failed: 1, files: 1 })
  })
})
