#include "core/row_table.h"

#include <gtest/gtest.h>

namespace wattn {
namespace {

TEST(RowTable, HasTheRowsThatWereAdded) {
  RowTable table(1000, 3);
  EXPECT_EQ(table.find(7), nullptr);
  std::vector<std::int32_t> all;
  for (std::int32_t i = 0; i < 200; ++i) all.push_back(i * 5 % 1000);  // more than a block, in any order
  ASSERT_TRUE(table.add(all).ok());
  ASSERT_TRUE(table.add(std::vector<std::int32_t>{999, 5, 999}).ok());
  EXPECT_EQ(table.ids().size(), 201U);
  for (const std::int32_t id : table.ids()) {
    for (int j = 0; j < 3; ++j) {
      EXPECT_EQ(table.find(id)[j], 0.0f);
      table.find(id)[j] = static_cast<float>(id + j);
    }
  }
  for (const std::int32_t id : table.ids()) EXPECT_EQ(table.find(id)[2], static_cast<float>(id + 2));
  EXPECT_EQ(table.find(6), nullptr);
  table.clear();
  EXPECT_TRUE(table.ids().empty());
  EXPECT_EQ(table.find(5), nullptr);
  ASSERT_TRUE(table.add(std::vector<std::int32_t>{5}).ok());
  EXPECT_EQ(table.find(5)[1], 0.0f);  // not what another row had there
}

TEST(RowTable, SaysWhatRowsTake) {
  const RowTable table(1000, 16);
  EXPECT_EQ(table.bytes_of(0), 4000U);
  EXPECT_EQ(table.bytes_of(1), 4000U + 64U * 16U * 4U);
  EXPECT_EQ(table.bytes_of(5000), table.bytes_of(1000));
}

}  // namespace
}  // namespace wattn
