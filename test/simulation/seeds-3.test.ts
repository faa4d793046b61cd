import { testSeeds } from './short-seeds.ts'

testSeeds(101, 150)
